/** How long a batch may keep its thread busy, learnt from those before it. */

/** The first batch also warms the device up. */
const firstMs = 30 * 60_000
const leastMs = 2 * 60_000
const slack = 20

export class Deadline {
  #slowestMs = 0

  /** For the next batch. */
  get ms(): number {
    return this.#slowestMs === 0 ? firstMs : Math.max(leastMs, slack * this.#slowestMs)
  }

  took(ms: number): void {
    this.#slowestMs = Math.max(this.#slowestMs, ms, 1)
  }
}
