import { type Clock, systemClock } from '../clock.ts'
import { type Adapted, AdaptiveCap } from './adaptive-cap.ts'
import type { Acquire, Outcome, Release } from './limited.ts'

/** What a transfer is for; a few permits are kept for what is not a sample. */
export type TransferKind = 'sample' | 'manifest' | 'checkpoint'

/**
 * How many of the permits samples may hold: all but one in twenty, kept for manifest and
 * checkpoints from two on.
 */
export const sampleRequestsMax = (max: number): number =>
  max < 2 ? max : max - Math.max(1, Math.floor(max / 20))

/** How many permits are given out, and how many may be. */
export interface PermitsStatus {
  /** No fewer than requests are open: an uploader has some in hand for what it asks next. */
  readonly open: number
  readonly max: number
  /** Less than `max` while the store is known to have too much to do. */
  readonly inForce: number
  /** The most that were given out at once. */
  readonly peak: number
}

export interface PermitOptions {
  readonly clock?: Clock
  readonly onAdapt?: (adapted: Adapted) => void
  /** Told of each permit: 1 when it is given out, -1 when it is back. */
  readonly onChange?: (
    permit: { readonly asker: string; readonly kind: TransferKind },
    change: 1 | -1,
  ) => void
}

interface Permit {
  readonly asker: string
  readonly kind: TransferKind
  /** Of the cap, when it was given. */
  readonly round: number
}

interface Waiter {
  readonly asker: string
  readonly kind: TransferKind
  readonly settle: (permit: Release | null) => void
}

/**
 * How many HTTP requests to the store may be open at once, over all threads. A permit is for one
 * request at a time, and may serve several in turn; it comes back when told so, or when its asker
 * has ended. A few are kept for manifest and checkpoints, so that a hundred samples under way never
 * keep them from being written. Where two or more are kept, the last is the manifest's: a
 * checkpoint's parts are large, and each commit would wait for one.
 *
 * Fewer samples at once go to a store that says it has too much to do. The few other requests
 * neither lower that number nor heed it: a store that throttles one key says nothing of others.
 */
export class Permits {
  readonly #cap: AdaptiveCap
  #peak = 0
  #samples = 0
  readonly #open = new Set<Permit>()
  /** Of those: given out before this object was, by another that is gone. */
  readonly #inherited = new Set<Permit>()
  #waiters: Waiter[] = []
  readonly #clock: Clock
  readonly #onAdapt: (adapted: Adapted) => void
  readonly #onChange: NonNullable<PermitOptions['onChange']>

  /** @param onAdapt  told when the cap in force leaves the whole one, and when it is back */
  constructor(max: number, options: PermitOptions = {}) {
    const { clock = systemClock, onAdapt = () => {}, onChange = () => {} } = options
    this.#cap = new AdaptiveCap(max)
    this.#clock = clock
    this.#onAdapt = onAdapt
    this.#onChange = onChange
  }

  get status(): PermitsStatus {
    const { max, inForce } = this.#cap
    return { open: this.#open.size, max, inForce, peak: this.#peak }
  }

  /** May be lowered while more are open: then none is granted until enough came back. */
  setMax(max: number): void {
    this.#cap.setMax(max)
    this.#serve()
  }

  /** What gives the permit back; null after `waitMs` without one. */
  acquire(asker: string, kind: TransferKind, waitMs: number): Promise<Release | null> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(() => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter)
        resolve(null)
      }, waitMs)
      const settle = (permit: Release | null) => {
        this.#clock.clearTimeout(timer)
        resolve(permit)
      }
      const waiter = { asker, kind, settle }
      this.#waiters.push(waiter)
      this.#serve()
    })
  }

  /** The same at once; null where there is none now. */
  take(asker: string, kind: TransferKind): Release | null {
    return this.#mayOpen(kind) ? this.#give(asker, kind) : null
  }

  /** As a store's `limited` wants it: waits as long as it takes. */
  taker(asker: string, kind: TransferKind): Acquire {
    return async () => {
      for (;;) {
        const release = await this.acquire(asker, kind, 10_000)
        if (release !== null) return release
      }
    }
  }

  /**
   * One that is out already counts from now on: whoever gave it out is gone, and its asker's
   * request is not. Comes back by `returned`, by `askerEnded`, or after `withinMs`. The last is
   * never taken: without one nothing is replayed, and until then nothing can come back.
   */
  inherit(asker: string, kind: TransferKind, withinMs: number): void {
    if (this.#open.size >= this.#cap.max - 1) return
    const permit = { asker, kind, round: this.#cap.round }
    this.#inherited.add(permit)
    this.#count(permit)
    this.#clock.setTimeout(() => this.#release(permit, 'lost'), withinMs)
  }

  /** The asker gives back one that was inherited; which one makes no difference. */
  returned(asker: string): void {
    const one = [...this.#inherited].find((permit) => permit.asker === asker)
    if (one) this.#release(one, 'lost')
  }

  askerEnded(asker: string): void {
    for (const waiter of this.#waiters) if (waiter.asker === asker) waiter.settle(null)
    this.#waiters = this.#waiters.filter((waiter) => waiter.asker !== asker)
    for (const permit of this.#open) if (permit.asker === asker) this.#release(permit, 'lost')
  }

  #release(permit: Permit, outcome: Outcome): void {
    if (!this.#open.delete(permit)) return
    this.#inherited.delete(permit)
    this.#onChange(permit, -1)
    if (permit.kind === 'sample') {
      this.#samples--
      const adapted = this.#cap.note(outcome, permit.round)
      if (adapted) this.#onAdapt(adapted)
    }
    this.#serve()
  }

  /** Whoever waits is served first: where one may open, nobody waits for such a one. */
  #serve(): void {
    for (;;) {
      const at = this.#waiters.findIndex(({ kind }) => this.#mayOpen(kind))
      if (at < 0) return
      const [{ asker, kind, settle }] = this.#waiters.splice(at, 1)
      settle(this.#give(asker, kind))
    }
  }

  #mayOpen(kind: TransferKind): boolean {
    const { inForce, max } = this.#cap
    const left = max - this.#open.size
    if (left <= 0 || kind === 'manifest') return left > 0
    const kept = max - sampleRequestsMax(max)
    return kind === 'checkpoint' ? kept < 2 || left > 1 : this.#samples < sampleRequestsMax(inForce)
  }

  #give(asker: string, kind: TransferKind): Release {
    const permit = { asker, kind, round: this.#cap.round }
    this.#count(permit)
    return (outcome) => this.#release(permit, outcome)
  }

  #count(permit: Permit): void {
    this.#open.add(permit)
    if (permit.kind === 'sample') this.#samples++
    this.#peak = Math.max(this.#peak, this.#open.size)
    this.#onChange(permit, 1)
  }
}
