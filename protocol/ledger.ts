import type { PermitsStatus } from '../src/store/permits.ts'
import { request } from './contract.ts'
import type { PermitAsk, PermitEnd } from './permit.ts'
import type { QuarantinedSample, SampleHash, SampleRef } from './sample.ts'

/** A sample that one uploader, and no other, sends. */
export interface Lease {
  readonly id: number
  readonly sample: SampleRef
  /**
   * The number of a permit that comes with it, where one was free: as good as one that was asked
   * for. It goes back with the word of what became of a lease, or before.
   */
  readonly permit: number | null
}

/** What became of a lease, and a permit that goes back with that word. */
export interface LeaseEnd {
  readonly lease: number
  readonly permit: number | null
}

/** What the store has, and how many more samples the asker would send at once. */
export interface StoredWord {
  readonly ends: readonly (LeaseEnd & { readonly key: string })[]
  readonly want: number
}

export type NextLease =
  | { readonly kind: 'lease'; readonly lease: Lease }
  /** Nothing to send now. Ask again. */
  | { readonly kind: 'later' }

export interface Amount {
  readonly samples: number
  readonly bytes: number
  readonly tokens: number
}

/** What became of all that was spooled, once nothing is under way. */
export interface Settled {
  readonly kind: 'settled' | 'later'
  /** In the manifest, from whichever start; none that failed now. */
  readonly quarantined: readonly SampleHash[]
  readonly failed: readonly SampleHash[]
}

/** Why the run cannot go on: the store is out of reach past its deadline, or refuses for good. */
export interface GaveUp {
  readonly reason: string
  /** What the store's answer asks for, where it is known. */
  readonly remedy: string | null
}

export interface LedgerStatus {
  /** In the manifest, from earlier runs and this one. */
  readonly committed: number
  readonly quarantined: number
  /** Named samples that the store would not take; they stay in the spool. */
  readonly failed: readonly { readonly hash: SampleHash; readonly reason: string }[]
  /** Since this start, each sample once. */
  readonly spooled: Amount
  readonly stored: Amount
  readonly spool: { readonly files: number; readonly bytes: number; readonly full: string | null }
  /** Bytes that writers were granted, and have not told to be written yet. */
  readonly granted: number
  /** Files of the spool that the store does not have yet, whichever start has spooled them. */
  readonly toSend: number
  /** Of these, those that are given out. */
  readonly uploading: number
  /** The ledger's own to give; one more is the lock's. */
  readonly permits: PermitsStatus
  /** Stored, not yet named by a segment. */
  readonly uncommitted: number
  readonly segments: number
  /** Milliseconds since the epoch of the last answer from the store; null before the first. */
  readonly lastStoreSuccess: number | null
  /** Set once the run cannot go on with this store. */
  readonly gaveUp: GaveUp | null
}

export const ledgerContract = {
  /**
   * What need not be computed: committed, quarantined or spooled. 16 bytes a hash, one after the
   * other.
   */
  known: request<void, Uint8Array<ArrayBuffer>>({ withinMs: 120_000 }),
  /**
   * Of which there is a file: stored, spooled, or in the spool because the store would not take it.
   * What is quarantined has none, and one that is brought is stored. As `known` gives them.
   */
  present: request<void, Uint8Array<ArrayBuffer>>({ withinMs: 120_000 }),
  /** Settles when the spool has room, or answers false after some seconds. */
  room: request<{ readonly bytes: number }, boolean>(),
  /** Idempotent by hash: a second telling changes nothing. */
  spooled: request<readonly SampleRef[], void>(),
  quarantined: request<readonly QuarantinedSample[], void>(),

  /** Leases one spooled sample to the uploader that asks; where it may wait, up to some seconds. */
  next: request<{ readonly wait: boolean }, NextLease>(),
  /** Answers the asker's questions for work that still wait: it drains. */
  wake: request<void, void>(),
  /**
   * One HTTP request to the store may be open; false after some seconds without a permit: ask
   * again.
   */
  permit: request<PermitAsk, boolean>(),
  /**
   * Idempotent. A question that still waits keeps its place, and the permit that it gets goes back
   * at once. Permits of an asker whose port closes come back by themselves. While the ledger is
   * away this waits long: what does not come back counts as open.
   */
  release: request<PermitEnd, void>({ withinMs: 600_000 }),
  /**
   * Confirmed by the store. Idempotent by lease. Answers what there is to send now, as far as it is
   * wanted: one message for several samples in place of two for each.
   */
  stored: request<StoredWord, readonly Lease[]>(),
  /** May pass: the sample goes back to the queue. */
  unavailable: request<LeaseEnd & { readonly reason: string }, void>(),
  /** Will not pass: the sample stays in the spool, named. */
  failed: request<LeaseEnd & { readonly reason: string }, void>(),
  /** The file is not what its name says: it is removed, and must be computed again. */
  torn: request<LeaseEnd & { readonly reason: string }, void>(),

  /** Settles when all that the store has by now is in the manifest. */
  commit: request<void, void>(),
  /**
   * Settles when all that was spooled is committed or failed; answers what must be computed again.
   */
  settled: request<void, Settled>(),
  status: request<void, LedgerStatus>(),
}
