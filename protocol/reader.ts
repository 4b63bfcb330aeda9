import { request } from './contract.ts'
import type { Batch } from './sample.ts'

/** What an extractor gets when it asks for work. */
export type NextBatch =
  | { readonly kind: 'batch'; readonly batch: Batch }
  /** Nothing now: others' batches may come back. Ask again. */
  | { readonly kind: 'later' }
  /** Every batch is done: none will come. */
  | { readonly kind: 'finished' }

export interface ReaderStatus {
  /** Rows in the dataset, or the configured limit. */
  readonly rows: number
  /** Rows looked at so far, of which the manifest already had `found`. */
  readonly examined: number
  readonly found: number
  /** Rows that need not be computed, are no use, or whose batch is done. */
  readonly rowsDone: number
  /** Planned tokens, and those of rows that need not be computed or whose batch is done. */
  readonly tokens: number
  readonly tokensDone: number
  /** Rows that repeat the token ids of an earlier one. */
  readonly repeated: number
  /** Rows that are no use as data, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  readonly batches: { readonly planned: number; readonly leased: number; readonly done: number }
  /** Batches that were halved, because they killed their extractor. */
  readonly halved: readonly string[]
  /** Null until every row has come to its end. */
  readonly outcome: RowOutcome | null
}

/** Where the dataset's distinct usable samples ended. */
export interface RowOutcome {
  readonly committed: number
  readonly quarantined: number
  readonly failed: number
}

/** What is asked of whoever knows the work and its end: the reader, or an importer. */
export const sourceContract = {
  /** While paused, no work is begun; what is under way goes on. */
  pause: request<boolean, void>(),
  status: request<void, ReaderStatus>(),
}

export const readerContract = {
  ...sourceContract,
  /** Leases a batch to the extractor that asks; waits up to some seconds for one. */
  next: request<void, NextBatch>(),
  /** The batch's wanted samples are spooled or quarantined. Idempotent. */
  done: request<{ readonly batch: string }, void>(),
}
