/** What ends what was begun: a test's context is one, a drill's another. */
export interface Scope {
  after(fn: () => unknown): void
}

/** The last that was begun ends first. */
export class Ending implements Scope {
  readonly #fns: (() => unknown)[] = []

  after(fn: () => unknown): void {
    this.#fns.push(fn)
  }

  async end(): Promise<void> {
    for (let fn = this.#fns.pop(); fn; fn = this.#fns.pop()) await fn()
  }
}
