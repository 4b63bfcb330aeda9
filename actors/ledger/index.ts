import type { ChildSpec } from '../../protocol/child.ts'
import type { Config } from '../../src/config/schema.ts'
import type { StorePlace } from '../../src/store/patient.ts'
import { newGrants, type SharedGrants } from './grants.ts'
import { newSharedPermits, type SharedPermits } from './held-permits.ts'

export interface LedgerInput {
  readonly work: string
  readonly store: StorePlace
  /** Tries of one request to the store. */
  readonly attempts: number
  /** Requests open at once, until it is told otherwise. */
  readonly maxParallel: number
  readonly deadlineMinutes: number
  readonly commit: Config['commit']
  readonly spool: Config['spool']
  /** What is quarantined and to be tried again: hash → the attempt that ended so. */
  readonly retry: ReadonlyMap<string, number>
  readonly grants: SharedGrants
  readonly permits: SharedPermits
}

/** Who has to do with it. */
export interface LedgerAround {
  /** Ids of those that tell it what they did: they drain first. */
  readonly drainsAfter: readonly string[]
  /** Ids of those that put files into the spool, and ask it for room. */
  readonly writers: readonly string[]
  /** Ids of those that hold permits of it, and go on while it is away. */
  readonly holders: readonly string[]
}

/** Owns what is spooled, uploading, stored and committed; the permits; the manifest's writing. */
export const ledger = (
  input: Omit<LedgerInput, 'grants' | 'permits'>,
  { drainsAfter, writers, holders }: LedgerAround,
): ChildSpec => ({
  id: 'ledger',
  entry: new URL('./worker.js', import.meta.url),
  input: {
    ...input,
    grants: newGrants(writers),
    permits: newSharedPermits(holders),
  } satisfies LedgerInput,
  asks: [],
  restart: 'always',
  readyMs: 300_000, // the manifest, or the next file of a spool that a crash left
  drainMs: 140_000, // the last segment, then 20 s for what is put in order
  drainsAfter,
  heartbeatMs: 30_000,
})
