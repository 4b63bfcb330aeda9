import type { Clock } from '../../src/clock.ts'
import { Failure } from '../../src/failure.ts'
import type { TreeEvent } from '../engine/events.ts'

/**
 * A ledger that runs knows for how long its store has been silent; one that cannot start because
 * of it does not. No window of restarts is exceeded either: each start takes as long as its tries.
 */
export class LedgerStarts {
  readonly #clock: Clock
  readonly #deadlineMinutes: number
  #since: number | null = null

  constructor(clock: Clock, options: { readonly deadlineMinutes: number }) {
    this.#clock = clock
    this.#deadlineMinutes = options.deadlineMinutes
  }

  /** True from the ledger's first start that the store failed to the first that it did not. */
  get areFailing(): boolean {
    return this.#since !== null
  }

  /** @returns  why the run cannot go on, once the store has been away past its deadline */
  note(event: TreeEvent): Failure | undefined {
    if (event.child !== 'ledger') return undefined
    if (event.kind === 'started') this.#since = null
    if (event.kind !== 'died') return undefined
    const { cause, failure } = event.death
    if (cause !== 'start' || failure?.kind !== 'unavailable') return undefined
    this.#since ??= this.#clock.now()
    if (this.#clock.now() - this.#since < this.#deadlineMinutes * 60_000) return undefined
    const minutes = this.#deadlineMinutes
    return new Failure('unavailable', `the store has not answered for ${minutes} minutes`, {
      cause: failure,
    })
  }
}
