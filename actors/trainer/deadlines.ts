/** How long its work may keep a trainer's thread busy. */

/** Its start: the target's embedding from a slow disk. */
export const loadMs = 600_000

/** The first steps build a graph for each shape; a later one may meet a new shape. */
const firstMs = 30 * 60_000
const leastMs = 10 * 60_000
const slack = 20

/** A step's deadline, learnt from those before it. */
export class Deadline {
  #slowestMs = 0

  get ms(): number {
    return this.#slowestMs === 0 ? firstMs : Math.max(leastMs, slack * this.#slowestMs)
  }

  took(ms: number): void {
    this.#slowestMs = Math.max(this.#slowestMs, ms, 1)
  }
}
