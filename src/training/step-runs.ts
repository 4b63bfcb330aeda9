import type { Spent } from './engine.ts'

/** What steps took of all that an engine's sessions ran: looks and copies run there as well. */
export class StepRuns {
  readonly #all: () => Spent
  #spent: Spent

  /** @param all  what the sessions have taken by now, for whatever they ran */
  constructor(all: () => Spent) {
    this.#all = all
    this.#spent = all()
  }

  get spent(): Spent {
    return this.#spent
  }

  /** Nothing else runs until the step is done. */
  async during<T>(step: () => Promise<T>): Promise<T> {
    const before = this.#all()
    try {
      return await step()
    } finally {
      const now = this.#all()
      const { insideMs, transferMs } = this.#spent
      this.#spent = {
        insideMs: insideMs + now.insideMs - before.insideMs,
        transferMs: transferMs === null ? null : transferMs + transferOf(now) - transferOf(before),
      }
    }
  }
}

const transferOf = ({ transferMs }: Spent): number => transferMs ?? 0
