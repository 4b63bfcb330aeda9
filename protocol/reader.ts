import { request } from './contract.ts'
import type { Batch } from './sample.ts'
import { sourceContract } from './source.ts'

/** What an extractor gets when it asks for work. */
export type NextBatch =
  | { readonly kind: 'batch'; readonly batch: Batch }
  /** Nothing now: others' batches may come back. Ask again. */
  | { readonly kind: 'later' }
  /** Every batch is done: none will come. */
  | { readonly kind: 'finished' }

export const readerContract = {
  ...sourceContract,
  /** Leases a batch to the extractor that asks; waits up to some seconds for one. */
  next: request<void, NextBatch>(),
  /** The batch's wanted samples are spooled or quarantined. Idempotent. */
  done: request<{ readonly batch: string }, void>(),
}
