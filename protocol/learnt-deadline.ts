/** How long work that is done again and again may keep a thread busy: see `Pulse.busy`. */

/** The first also warms the device up, or builds what those after it find. */
const firstMs = 30 * 60_000
const slack = 20

/** Learnt from the works before: so many times the slowest of them. */
export class LearntDeadline {
  readonly #leastMs: number
  #slowestMs = 0

  constructor(leastMs: number) {
    this.#leastMs = leastMs
  }

  /** For the next one. */
  get ms(): number {
    return this.#slowestMs === 0 ? firstMs : Math.max(this.#leastMs, slack * this.#slowestMs)
  }

  took(ms: number): void {
    this.#slowestMs = Math.max(this.#slowestMs, ms, 1)
  }
}
