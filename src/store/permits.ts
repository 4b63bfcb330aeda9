import { type Clock, systemClock } from '../clock.ts'

/** What a transfer is for; `manifest` has a few permits kept for it. */
export type TransferKind = 'sample' | 'manifest'

/**
 * How many of the permits samples may hold: all but one in twenty, kept for the manifest from two
 * on.
 */
export const sampleRequestsMax = (max: number): number =>
  max < 2 ? max : max - Math.max(1, Math.floor(max / 20))

interface PermitOptions {
  readonly firstId?: number
  readonly clock?: Clock
}

interface Waiter {
  readonly asker: string
  readonly kind: TransferKind
  readonly grant: (id: number | null) => void
}

/**
 * How many HTTP requests to the store may be open at once, over all threads. A permit is one
 * attempt; it comes back when told so, or when its asker has ended. A few are kept for the
 * manifest, so that a hundred samples under way never keep it from being written.
 */
export class Permits {
  #max: number
  #nextId: number
  #peak = 0
  #samples = 0
  readonly #open = new Map<number, { readonly asker: string; readonly kind: TransferKind }>()
  #waiters: Waiter[] = []
  readonly #clock: Clock

  /** @param firstId  of the ids given out: where several of these follow each other, they differ */
  constructor(max: number, { firstId = 1, clock = systemClock }: PermitOptions = {}) {
    this.#max = max
    this.#nextId = firstId
    this.#clock = clock
  }

  get open(): number {
    return this.#open.size
  }

  get max(): number {
    return this.#max
  }

  /** The most that were open at once. */
  get peak(): number {
    return this.#peak
  }

  /** May be lowered while more are open: then none is granted until enough came back. */
  setMax(max: number): void {
    this.#max = max
    this.#serve()
  }

  /** Null after `waitMs` without one. */
  acquire(asker: string, kind: TransferKind, waitMs: number): Promise<number | null> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(() => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter)
        resolve(null)
      }, waitMs)
      const grant = (id: number | null) => {
        this.#clock.clearTimeout(timer)
        resolve(id)
      }
      const waiter = { asker, kind, grant }
      this.#waiters.push(waiter)
      this.#serve()
    })
  }

  release(id: number): void {
    const permit = this.#open.get(id)
    if (!permit) return
    this.#open.delete(id)
    if (permit.kind === 'sample') this.#samples--
    this.#serve()
  }

  /** As a store's `limited` wants it: waits as long as it takes. */
  taker(asker: string, kind: TransferKind): () => Promise<() => void> {
    return async () => {
      for (;;) {
        const id = await this.acquire(asker, kind, 10_000)
        if (id !== null) return () => this.release(id)
      }
    }
  }

  askerEnded(asker: string): void {
    for (const waiter of this.#waiters) if (waiter.asker === asker) waiter.grant(null)
    this.#waiters = this.#waiters.filter((waiter) => waiter.asker !== asker)
    for (const [id, permit] of this.#open) if (permit.asker === asker) this.release(id)
  }

  #serve(): void {
    while (this.#open.size < this.#max) {
      const samplesMay = this.#samples < sampleRequestsMax(this.#max)
      const at = this.#waiters.findIndex((waiter) => waiter.kind === 'manifest' || samplesMay)
      if (at < 0) return
      const [waiter] = this.#waiters.splice(at, 1)
      const id = this.#nextId++
      this.#open.set(id, waiter)
      if (waiter.kind === 'sample') this.#samples++
      this.#peak = Math.max(this.#peak, this.#open.size)
      waiter.grant(id)
    }
  }
}
