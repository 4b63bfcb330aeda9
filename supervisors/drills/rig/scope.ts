/** What ends what was begun: a test's context is one, a drill's another. */
export interface Scope {
  after(fn: () => unknown): void
}

/** The last that was begun ends first; what is begun after the end, at once. */
export class Ending implements Scope {
  readonly #fns: (() => unknown)[] = []
  #isOver = false

  after(fn: () => unknown): void {
    if (this.#isOver) void fn()
    else this.#fns.push(fn)
  }

  async end(): Promise<void> {
    this.#isOver = true
    for (let fn = this.#fns.pop(); fn; fn = this.#fns.pop()) await fn()
  }
}
