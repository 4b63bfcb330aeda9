import type { FeedStatus } from '../src/feed/feed.ts'
import type { FeedSize } from '../src/feed/feed-size.ts'
import type { LeftOutSample } from '../src/feed/left-out.ts'
import type { ReadCounts } from '../src/feed/sample-reader.ts'
import type { TrainingBatch } from '../src/feed/training-batch.ts'
import { request } from './contract.ts'

/** What a trainer gets when it asks for a batch. A batch's arrays are transferred. */
export type NextTraining =
  | { readonly kind: 'batch'; readonly batch: TrainingBatch }
  /** It is being read, or not stored yet. Ask again; `why`: the store is out of reach. */
  | { readonly kind: 'later'; readonly why: string | null }
  /** All epochs are over: there is no batch of this number. */
  | { readonly kind: 'finished' }
  /** The loader has started anew, or serves another training: `begin` this one, and ask again. */
  | { readonly kind: 'unbegun' }

/** What a trainer gets of what is held out. */
export type NextHeldOut =
  | { readonly kind: 'batch'; readonly batch: TrainingBatch }
  /** There is no batch of this number. */
  | { readonly kind: 'finished' }
  | { readonly kind: 'unbegun' }

/** The order of the data, or as above. */
export type RecordTold =
  | { readonly kind: 'record'; readonly record: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'unbegun' }

export interface TrainingAsk {
  /** Its id. */
  readonly training: string
}

export interface LoaderStatus extends FeedStatus {
  /** The batch that was given last. */
  readonly plan: number | null
  /** Why it waits for the store; null while it does not. */
  readonly away: string | null
  /** Samples read since this start. */
  readonly read: ReadCounts
  /** Samples that were planned and could not be used, since this start; the latest by name. */
  readonly leftOut: { readonly samples: number; readonly latest: readonly LeftOutSample[] }
  readonly cacheBytes: number
}

/** The manifest, all rows of the dataset, and the packing of an epoch. */
const longMs = 600_000

export const loaderContract = {
  /**
   * Goes on where a training was: `record` is what `record` gave when the checkpoint was made; null
   * begins a training. Idempotent.
   *
   * @throws  Failure `invalid`: nothing to train on, or another configuration; `corrupt`
   */
  begin: request<TrainingAsk & { readonly record: Uint8Array | null }, FeedSize>({
    withinMs: longMs,
  }),
  /**
   * The batch of this plan number, the same each time that it is asked for; waits some seconds for
   * it. Whoever asks in order is read ahead for.
   *
   * @throws  Failure `unavailable`: the store stays out of reach past the deadline; `invalid`: it
   *          refuses; `corrupt`: no sample can be used, batch after batch
   */
  next: request<TrainingAsk & { readonly plan: number }, NextTraining>({ withinMs: longMs }),
  /**
   * A batch of what is held out, from 0. Which samples there are is settled when the first is asked
   * for, and by each start of the loader.
   */
  heldOut: request<TrainingAsk & { readonly batch: number }, NextHeldOut>({ withinMs: longMs }),
  /** The order of the data as far as it is settled, to be kept with the checkpoint; transferred. */
  record: request<TrainingAsk, RecordTold>({ withinMs: 120_000 }),
  /** The run that is followed stores no more. Idempotent; a loader that restarts is told again. */
  extractionEnded: request<void, void>(),
  status: request<void, LoaderStatus>(),
}
