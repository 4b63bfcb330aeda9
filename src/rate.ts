/** How fast a counter grows, over the last half minute. */

const windowMs = 30_000

export class Rate {
  readonly #marks: { readonly at: number; readonly count: number }[] = []

  note(count: number, at: number): void {
    // A counter that fell belongs to an actor that started anew.
    const last = this.#marks.at(-1)
    if (last && count < last.count) this.#marks.length = 0
    this.#marks.push({ at, count })
    while (this.#marks.length > 2 && this.#marks[1].at <= at - windowMs) this.#marks.shift()
  }

  get perSecond(): number {
    const first = this.#marks[0]
    const last = this.#marks.at(-1)
    if (!first || !last || last.at === first.at) return 0
    return ((last.count - first.count) * 1000) / (last.at - first.at)
  }
}
