import type { Config } from '../../src/config/schema.ts'
import { Failure, isFailure } from '../../src/failure.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import type { TreeEvent } from '../engine/events.ts'
import type { RunClaims } from './claims.ts'
import { FailedStarts } from './failed-starts.ts'
import type { RunEvent } from './machine.ts'
import { spoolLost } from './spool-lost.ts'

type Around = Pick<Surroundings, 'clock' | 'disk' | 'random'>

/** What a tree tells of its deaths, as far as the run cannot go on after them. */
export class Losses {
  readonly #work: string
  readonly #around: Around
  readonly #claims: Pick<RunClaims, 'storm'>
  readonly #failedStarts: FailedStarts
  #storageGaveUp = false
  /** What the ledger died of, where it told, until it is up again. */
  #ledgerDeath: Failure | undefined

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
    return this.#storageGaveUp || this.#failedStarts.isLedgers
  }

  /** @returns  what that means for the run, where it means anything */
  note(event: TreeEvent): Extract<RunEvent, { type: 'gaveUp' | 'undrained' }> | null {
    if (event.kind === 'gaveUp' && event.child === 'storage') this.#storageGaveUp = true
    if (event.child === 'ledger') {
      if (event.kind === 'started') this.#ledgerDeath = undefined
      if (event.kind === 'died') this.#ledgerDeath = event.death.failure
      if (event.kind === 'undrained') {
        return { type: 'undrained', failure: uncommitted(this.#ledgerDeath ?? event.error) }
      }
    }
    const lost =
      this.#failedStarts.note(event) ??
      spoolLost(event, this.#work, this.#around) ??
      (event.kind === 'died' ? this.#claims.storm() : null)
    return lost && { type: 'gaveUp', failure: lost }
  }
}

const uncommitted = (cause: unknown): Failure =>
  new Failure(
    isFailure(cause) ? cause.kind : 'unavailable',
    'the drain did not end: some of what is stored is not committed',
    {
      remedy: (isFailure(cause) && cause.remedy) || 'Run again here: the spool keeps what waits.',
      cause,
    },
  )
