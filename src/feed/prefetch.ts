/** Batches read ahead of whoever asks for them, in the order of their plans, within a bound. */
import type { ReadBudget } from './read-budget.ts'

/** So far ahead at most, and so far behind what is asked for nothing is kept. */
const reach = 64

export interface PrefetchParts<T> {
  readonly load: (plan: number, signal: AbortSignal) => Promise<T>
  /** What a batch takes in memory; undefined where there is none, or not yet. */
  readonly bytesOf: (plan: number) => number | undefined
  /** Of what is read ahead here: others have to find room beside it. */
  readonly bytesMax: number
  /** Of all that is held, here and by others; what is asked for waits for room in it. */
  readonly budget: ReadBudget
}

interface Load<T> {
  readonly promise: Promise<T>
  readonly bytes: number
  readonly abort: AbortController
}

/**
 * Any plan may be asked for at any time, and again: what was given away is then loaded anew. Asked
 * for in order, by one or by several, it is there before it is asked for.
 */
export class Prefetch<T> {
  readonly #parts: PrefetchParts<T>
  readonly #loads = new Map<number, Load<T>>()
  /** Plans that somebody waits for, each as often as it is waited for. */
  readonly #asked: number[] = []

  constructor(parts: PrefetchParts<T>) {
    this.#parts = parts
    parts.budget.addHolder(() => this.#giveUp())
  }

  get batches(): number {
    return this.#loads.size
  }

  get bytes(): number {
    let sum = 0
    for (const { bytes } of this.#loads.values()) sum += bytes
    return sum
  }

  /**
   * The batch, once and no more: a second asker gets one of its own. Undefined where there is no
   * such batch, or `late` settles first; the load goes on.
   *
   * @param late   never rejects
   * @throws       what the load threw; the next who asks begins another
   */
  async take(plan: number, late: Promise<void>): Promise<T | undefined> {
    this.#forget((other) => Math.abs(other - plan) > reach)
    this.#asked.push(plan)
    try {
      return await this.#asking(plan, late)
    } finally {
      this.#asked.splice(this.#asked.indexOf(plan), 1)
      this.#parts.budget.changed()
    }
  }

  async #asking(plan: number, late: Promise<void>): Promise<T | undefined> {
    const { budget, bytesOf } = this.#parts
    const lateness = late.then(() => 'late' as const)
    for (;;) {
      const bytes = bytesOf(plan)
      if (bytes === undefined) return undefined
      if (!this.#loads.has(plan) && !budget.fits(bytes)) {
        if ((await Promise.race([budget.room(bytes), lateness])) === 'late') return undefined
        continue
      }
      const load = this.#loads.get(plan) ?? this.#begin(plan, bytes)
      this.ahead(plan + 1)
      const end = await Promise.race([ended(load.promise), lateness])
      if (end === 'late') return undefined
      if (this.#loads.get(plan) !== load) continue
      this.#loads.delete(plan)
      budget.give(load.bytes)
      if (end.status === 'rejected') throw end.reason
      this.ahead(plan + 1)
      return end.value
    }
  }

  /** Begins what comes from `plan` on, as far as the bound allows. */
  ahead(plan: number): void {
    const { budget, bytesMax, bytesOf } = this.#parts
    for (let next = plan; next < plan + reach; next++) {
      if (this.#loads.has(next)) continue
      const bytes = bytesOf(next)
      if (bytes === undefined || this.bytes + bytes > bytesMax || !budget.fits(bytes)) return
      this.#begin(next, bytes)
    }
  }

  /** Ends all that is under way, and drops what waits. */
  clear(): void {
    this.#forget(() => true)
  }

  #begin(plan: number, bytes: number): Load<T> {
    this.#parts.budget.take(bytes)
    const abort = new AbortController()
    const promise = this.#parts.load(plan, abort.signal)
    // Whoever asks for it hears of it; until then nobody does.
    promise.catch(() => undefined)
    const load = { promise, bytes, abort }
    this.#loads.set(plan, load)
    return load
  }

  #forget(isOver: (plan: number) => boolean): void {
    for (const [plan, { abort, bytes, promise }] of this.#loads) {
      if (!isOver(plan)) continue
      this.#loads.delete(plan)
      this.#parts.budget.giveAfter(bytes, promise)
      abort.abort()
    }
  }

  /** What would be asked for last. */
  #giveUp(): boolean {
    const spare = [...this.#loads.keys()].filter((plan) => !this.#asked.includes(plan))
    const last = Math.max(...spare)
    this.#forget((plan) => plan === last)
    return spare.length > 0
  }
}

/** As `Promise.allSettled` tells it, of one. */
async function ended<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [end] = await Promise.allSettled([promise])
  return end
}
