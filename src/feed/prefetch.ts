/** Batches read ahead of whoever asks for them, in the order of their plans, within a bound. */

/** So far ahead at most, and so far behind what is asked for nothing is kept. */
const reach = 64

export interface PrefetchParts<T> {
  readonly load: (plan: number, signal: AbortSignal) => Promise<T>
  /** What a batch takes in memory; undefined where there is none, or not yet. */
  readonly bytesOf: (plan: number) => number | undefined
  /** Of all batches together that are under way or wait; the one asked for comes in any case. */
  readonly bytesMax: number
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

  constructor(parts: PrefetchParts<T>) {
    this.#parts = parts
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
   * The batch, once and no more: a second asker gets one of its own. Undefined where `late` settles
   * first; the load goes on.
   *
   * @param late   never rejects
   * @throws       what the load threw; the next who asks begins another
   */
  async take(plan: number, late: Promise<void>): Promise<T | undefined> {
    this.#forget((other) => Math.abs(other - plan) > reach)
    for (;;) {
      const load = this.#loads.get(plan) ?? this.#begin(plan)
      this.ahead(plan + 1)
      if (!load) return undefined
      const end = await Promise.race([ended(load.promise), late.then(() => undefined)])
      if (!end) return undefined
      if (this.#loads.get(plan) !== load) continue
      this.#loads.delete(plan)
      if (end.status === 'rejected') throw end.reason
      this.ahead(plan + 1)
      return end.value
    }
  }

  /** Begins what comes from `plan` on, as far as the bound allows. */
  ahead(plan: number): void {
    for (let next = plan; next < plan + reach; next++) {
      if (this.#loads.has(next)) continue
      const bytes = this.#parts.bytesOf(next)
      if (bytes === undefined || this.bytes + bytes > this.#parts.bytesMax) return
      this.#begin(next)
    }
  }

  /** Ends all that is under way, and drops what waits. */
  clear(): void {
    this.#forget(() => true)
  }

  #begin(plan: number): Load<T> | undefined {
    const bytes = this.#parts.bytesOf(plan)
    if (bytes === undefined) return undefined
    const abort = new AbortController()
    const promise = this.#parts.load(plan, abort.signal)
    // Whoever asks for it hears of it; until then nobody does.
    promise.catch(() => undefined)
    const load = { promise, bytes, abort }
    this.#loads.set(plan, load)
    return load
  }

  #forget(isOver: (plan: number) => boolean): void {
    for (const [plan, { abort }] of this.#loads) {
      if (!isOver(plan)) continue
      abort.abort()
      this.#loads.delete(plan)
    }
  }
}

/** As `Promise.allSettled` tells it, of one. */
async function ended<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [end] = await Promise.allSettled([promise])
  return end
}
