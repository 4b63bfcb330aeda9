/** How long its work may keep an extractor's thread busy. */

/** Its start: 140 GB of weights from a disk that gives 100 MB/s, copied first. */
export const loadMs = 3_600_000

/** The first batch also warms the device up. */
const firstMs = 30 * 60_000
const leastMs = 2 * 60_000
const slack = 20

/** A batch's deadline, learnt from those before it. */
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
