import { explain } from '../../../src/failure.ts'

/** What ends what was begun: a test's context is one, a drill's another. */
export interface Scope {
  after(fn: () => unknown): void
}

/** The last that was begun ends first; what is begun after the end, at once. */
export class Ending implements Scope {
  readonly #fns: (() => unknown)[] = []
  readonly #told: (line: string) => void
  #isOver = false

  /** @param told  why one that was begun after the end could not be ended; default: on stderr */
  constructor(told = (line: string): void => void process.stderr.write(`${line}\n`)) {
    this.#told = told
  }

  after(fn: () => unknown): void {
    if (this.#isOver) void this.#endNow(fn)
    else this.#fns.push(fn)
  }

  async end(): Promise<void> {
    this.#isOver = true
    for (let fn = this.#fns.pop(); fn; fn = this.#fns.pop()) await fn()
  }

  /** Nobody waits for it, and nobody else would hear of it. */
  async #endNow(fn: () => unknown): Promise<void> {
    try {
      await fn()
    } catch (error) {
      this.#told(`what was begun after the end could not be ended: ${explain(error)}`)
    }
  }
}
