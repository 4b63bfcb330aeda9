import type { Clock } from '../../src/clock.ts'

/** How many restarts one child may need in a while: a sliding window. */
export class RestartWindow {
  readonly #limit: { readonly max: number; readonly withinMs: number }
  readonly #clock: Clock
  /** When each restart was charged, oldest first; at most `max` of them. */
  #charged: number[] = []

  constructor(limit: { readonly max: number; readonly withinMs: number }, clock: Clock) {
    this.#limit = limit
    this.#clock = clock
  }

  /** Charges one restart. False where that is one more than is allowed. */
  charge(): boolean {
    const now = this.#clock.now()
    this.#charged = this.#charged.filter((at) => now - at < this.#limit.withinMs)
    if (this.#charged.length >= this.#limit.max) return false
    this.#charged.push(now)
    return true
  }
}
