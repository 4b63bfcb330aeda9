import type { Clock } from '../../src/clock.ts'
import { Failure } from '../../src/failure.ts'
import type { TreeEvent } from '../engine/events.ts'
import { NotStarted } from '../refused-start.ts'

const ledger = 'ledger'

/**
 * A ledger that runs knows for how long its store has been silent; one that cannot start because
 * of it does not, nor does a loader. No window of restarts is exceeded either: each start takes as
 * long as its tries, or as it may.
 */
export class FailedStarts {
  readonly #clock: Clock
  readonly #deadlineMinutes: number
  /** Of those that are not up: the first of their starts in a row that failed. */
  readonly #since = new Map<string, number>()
  #isLedgerUp = false
  #ledgerFailing: Failure | null = null

  constructor(clock: Clock, options: { readonly deadlineMinutes: number }) {
    this.#clock = clock
    this.#deadlineMinutes = options.deadlineMinutes
  }

  /** From the ledger's first start that the store failed to the first that it did not: the last. */
  get ledgerFailing(): Failure | null {
    return this.#ledgerFailing
  }

  /** @returns  why the run cannot go on, once an actor could not start past the deadline */
  note(event: TreeEvent): Failure | undefined {
    const { child, kind } = event
    if (child === ledger && (kind === 'started' || kind === 'died')) {
      this.#isLedgerUp = kind === 'started'
    }
    if (kind === 'started') {
      this.#since.delete(child)
      if (child === ledger) this.#ledgerFailing = null
    }
    if (kind !== 'died') return undefined
    const { cause, failure } = event.death
    if (cause !== 'start' || failure?.kind !== 'unavailable') return undefined
    if (child === ledger && !(failure instanceof NotStarted)) this.#ledgerFailing = failure
    return this.#failed(child, failure)
  }

  #failed(child: string, cause: Failure): Failure | undefined {
    // Whoever starts asks the ledger: while that is away, it is the ledger's starts that count.
    if (child !== ledger && !this.#isLedgerUp) {
      this.#since.delete(child)
      return undefined
    }
    const now = this.#clock.now()
    const since = this.#since.get(child) ?? now
    this.#since.set(child, since)
    if (now - since < this.#deadlineMinutes * 60_000) return undefined
    const { remedy } = cause
    const facts = `actor=${child}, minutes=${this.#deadlineMinutes}`
    return new Failure('unavailable', `it could not start in all its time. ${facts}`, {
      cause,
      ...(remedy !== undefined && { remedy }),
    })
  }
}
