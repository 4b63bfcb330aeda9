import type { Config } from '../../src/config/schema.ts'
import type { Failure } from '../../src/failure.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import type { TreeEvent } from '../engine/events.ts'
import type { RunClaims } from './claims.ts'
import { LedgerStarts } from './ledger-starts.ts'
import { spoolLost } from './spool-lost.ts'

type Around = Pick<Surroundings, 'clock' | 'disk' | 'random'>

/** What a tree tells of its deaths, as far as the run cannot go on after them. */
export class Losses {
  readonly #work: string
  readonly #around: Around
  readonly #claims: Pick<RunClaims, 'storm'>
  readonly #ledgerStarts: LedgerStarts
  #storageGaveUp = false

  constructor(
    { upload, work }: Pick<Config, 'upload' | 'work'>,
    claims: Pick<RunClaims, 'storm'>,
    around: Around,
  ) {
    this.#work = work
    this.#around = around
    this.#claims = claims
    this.#ledgerStarts = new LedgerStarts(around.clock, upload)
  }

  /** Nothing more comes into the store: the spool keeps what waits for it. */
  get isStoreLost(): boolean {
    return this.#storageGaveUp || this.#ledgerStarts.areFailing
  }

  /** @returns  why the run cannot go on, where it cannot */
  note(event: TreeEvent): Failure | null {
    if (event.kind === 'gaveUp' && event.child === 'storage') this.#storageGaveUp = true
    const lost = this.#ledgerStarts.note(event) ?? spoolLost(event, this.#work, this.#around)
    return lost ?? (event.kind === 'died' ? this.#claims.storm() : null)
  }
}
