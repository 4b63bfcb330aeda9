import type { Config } from '../../src/config/schema.ts'
import { Failure, isFailure } from '../../src/failure.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import type { TreeEvent } from '../engine/events.ts'
import { trainingIds } from '../training-ids.ts'
import type { RunClaims } from './claims.ts'
import { FailedStarts } from './failed-starts.ts'
import type { RunEvent } from './machine.ts'
import { spoolLost } from './spool-lost.ts'

const { trainer } = trainingIds

type Undrained = Extract<RunEvent, { type: 'undrained' }>
type Around = Pick<Surroundings, 'clock' | 'disk' | 'random'>

/** What a tree tells of its deaths, as far as the run cannot go on after them. */
export class Losses {
  readonly #work: string
  readonly #around: Around
  readonly #claims: Pick<RunClaims, 'storm'>
  readonly #failedStarts: FailedStarts
  #storageGaveUp = false
  #wasLedgerUp = false
  /** What each died of last, where it told, until it is up again. */
  readonly #deaths = new Map<string, Failure>()
  /** Those that were up, or were to be, and have ended since. */
  readonly #away = new Set<string>()

  constructor(
    { upload, work }: Pick<Config, 'upload' | 'work'>,
    claims: Pick<RunClaims, 'storm'>,
    around: Around,
  ) {
    this.#work = work
    this.#around = around
    this.#claims = claims
    this.#failedStarts = new FailedStarts(around.clock, upload)
  }

  /** Nothing more comes into the store: the spool keeps what waits for it. */
  get isStoreLost(): boolean {
    return this.#storageGaveUp || this.#failedStarts.ledgerFailing !== null
  }

  /**
   * What a stop leaves that waits for no drain because the store is lost. Null where nothing is: a
   * ledger that never was up holds nothing of this run.
   */
  left(): Undrained | null {
    const failing = this.#failedStarts.ledgerFailing
    return failing && this.#wasLedgerUp ? this.#undrained('ledger', failing) : null
  }

  /**
   * @param isUnsaved  steps were done that no checkpoint holds
   * @returns          what that means for the run, where it means anything
   */
  note(
    event: TreeEvent,
    { isUnsaved = false } = {},
  ): Extract<RunEvent, { type: 'gaveUp' }> | Undrained | null {
    if (event.kind === 'started' && event.child === 'ledger') this.#wasLedgerUp = true
    if (event.kind === 'gaveUp' && event.child === 'storage') this.#storageGaveUp = true
    this.#noteAway(event)
    if (event.kind === 'started') this.#deaths.delete(event.child)
    if (event.kind === 'died' && event.death.failure) {
      this.#deaths.set(event.child, event.death.failure)
    }
    if (event.kind === 'undrained') {
      const { child, error } = event
      // One that is there is still asked for its last steps by the checkpointer.
      const isKept = child === trainer && !(isUnsaved && this.#away.has(child))
      return isKept ? null : this.#undrained(child, error)
    }
    const lost =
      this.#failedStarts.note(event) ??
      spoolLost(event, this.#work, this.#around) ??
      (event.kind === 'died' ? this.#claims.storm() : null)
    return lost && { type: 'gaveUp', failure: lost }
  }

  #noteAway({ kind, child }: TreeEvent): void {
    if (kind === 'started') this.#away.delete(child)
    if (kind === 'died' || kind === 'ended') this.#away.add(child)
  }

  #undrained(child: string, error: unknown): Undrained | null {
    const unkept = unkeptBy.get(child)
    if (!unkept) return null
    const cause = this.#deaths.get(child) ?? error
    return { type: 'undrained', failure: notKept(unkept, cause) }
  }
}

interface Unkept {
  readonly what: string
  readonly remedy: string
}

const lastSteps: Unkept = {
  what: 'the last steps are in no checkpoint',
  remedy: 'Run again: the training goes on from its last checkpoint.',
}

/** What a stop has not kept where one of these did not drain; of others nothing is lost. */
const unkeptBy: ReadonlyMap<string, Unkept> = new Map([
  [
    'ledger',
    {
      what: 'some of what is stored is not committed',
      remedy: 'Run again here: the spool keeps what waits.',
    },
  ],
  [trainingIds.checkpointer, lastSteps],
  [trainer, lastSteps],
])

const notKept = ({ what, remedy }: Unkept, cause: unknown): Failure => {
  const known = isFailure(cause) ? cause : undefined
  return new Failure(known?.kind ?? 'unavailable', `the drain did not end: ${what}`, {
    remedy: known?.remedy ?? remedy,
    cause,
  })
}
