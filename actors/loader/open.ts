import { join } from 'node:path'
import { type Clock, systemClock, wallClock } from '../../src/clock.ts'
import { datasetFingerprint } from '../../src/dataset/fingerprint.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { DataFeed } from '../../src/feed/feed.ts'
import { Lanes } from '../../src/feed/lanes.ts'
import { LeftOut } from '../../src/feed/left-out.ts'
import { OrderFile } from '../../src/feed/order-file.ts'
import { SampleCache } from '../../src/feed/sample-cache.ts'
import { SampleReader } from '../../src/feed/sample-reader.ts'
import type { WantedOrder } from '../../src/feed/start-log.ts'
import { StoreAway } from '../../src/feed/store-away.ts'
import { findTrainable, type TrainableRows } from '../../src/feed/trainable-rows.ts'
import { requireTensors, type StatesFormat } from '../../src/feed/training-batch.ts'
import type { Log } from '../../src/log.ts'
import { type Manifest, openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { openRowHashes } from '../../src/run/kept-hashes.ts'
import { guestsDir } from '../../src/spool/guests.ts'
import { openSpool } from '../../src/spool/spool.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { hasEligibleAnchor } from '../../src/training/anchors.ts'
import type { LoaderInput } from './index.ts'

/** Samples read at once: enough to hide a store's latency, few beside the uploads. */
const samplesAtOnce = 16

export interface OpenParts {
  /** Each request takes a permit; what may pass is tried again. */
  readonly store: ObjectStore
  readonly log: Log
  readonly clock?: Clock
  /** Told while the dataset's rows are read, which may take a minute. */
  readonly onRows: (rows: number) => void
}

export interface OpenedFeed {
  readonly feed: DataFeed
  /** Why it waits for the store; null while it does not. */
  readonly whyAway: () => string | null
  readonly reader: SampleReader
  readonly cache: SampleCache | null
  readonly leftOut: LeftOut
}

/** Reads the manifest and the dataset's rows; no sample is read before it is asked for. */
export async function openFeed(input: LoaderInput, parts: OpenParts): Promise<OpenedFeed> {
  const { work, train } = input
  const { store, log, clock = systemClock } = parts
  const format = formatOf(input)
  requireTensors(train.tokensPerBatch, format)
  const manifest = await replayed(store, log)
  const anchors = { rule: train.anchorRule, blockSize: train.blockSize }
  const hasAnchor = (mask: Uint8Array) => hasEligibleAnchor(mask, anchors)
  const rows = await trainableRows(input, { ...parts, hasAnchor })
  const [samplesAway, manifestAway] = ['samples wait', 'the manifest waits'].map((what) =>
    awayOf(input, { what, log, clock }),
  )
  const spool = await openSpool(join(work, 'spool'))
  const mayGrow = () => !feed.isFollowed
  const cache =
    input.cache &&
    (await SampleCache.open(guestsDir(work), { limits: input.cache, waiting: spool, mayGrow, log }))
  const reader = new SampleReader({ format, store, away: samplesAway, spool, cache })
  const leftOut = new LeftOut(log)
  const feed = new DataFeed({
    rows,
    manifest,
    away: manifestAway,
    hasAnchor,
    reader,
    format,
    leftOut,
    wanted: wantedOrder(input),
    epochs: train.epochs,
    samplesMin: train.samplesMin,
    heldOutSamples: train.heldOutSamples,
    follows: input.follows,
    file: new OrderFile(work),
    // Of what may be in memory, a quarter is for files that are not yet part of a batch.
    lanes: new Lanes({ count: samplesAtOnce, bytesMax: train.queueBytes / 4 }),
    bytesMax: (train.queueBytes * 3) / 4,
    clock,
    log,
  })
  const whyAway = () => samplesAway.why ?? manifestAway.why
  return { feed, whyAway, reader, cache, leftOut }
}

/** One that answers for the manifest says nothing of how it does for samples. */
const awayOf = (
  { deadlineMinutes }: LoaderInput,
  { what, log, clock }: { readonly what: string; readonly log: Log; readonly clock: Clock },
): StoreAway =>
  new StoreAway(clock, {
    deadlineMs: deadlineMinutes * 60_000,
    onChange: (why) => {
      if (why === null) log.info(`the store is back: ${what} no more`)
      else log.warn({ why }, `${what} for the store`)
    },
  })

async function replayed(store: ObjectStore, log: Log): Promise<Manifest> {
  const manifest = openManifest(store, { writer: newWriterId(wallClock, Math.random) })
  const { stored } = await manifest.replay()
  log.info({ stored }, 'manifest replayed')
  return manifest
}

async function trainableRows(
  input: LoaderInput,
  {
    store,
    log,
    clock = systemClock,
    onRows,
    hasAnchor,
  }: OpenParts & { readonly hasAnchor: (mask: Uint8Array) => boolean },
): Promise<TrainableRows> {
  const { path, split, columns } = input.dataset
  const dataset = openDataset(path, { split: split ?? null, columns })
  const fingerprint = datasetFingerprint(dataset, dataset.lengths(), columns.inputIds)
  const of = { rows: dataset.rows, fingerprint }
  const rows = await findTrainable({
    dataset,
    hashes: await openRowHashes(of, { work: input.work, store }, log),
    limit: input.limit,
    limits: { vocab: input.vocab, maxTokens: input.maxTokens },
    hasAnchor,
    clock,
    onProgress: onRows,
  })
  log.info({ ...rows.counts, samples: rows.count }, 'samples that can be trained on')
  const { anchorRule, blockSize } = input.train
  const facts = { rows: rows.counts.withoutAnchor, anchorRule, blockSize }
  if (facts.rows > 0) log.warn(facts, 'rows without an anchor are stored, and never trained on')
  return rows
}

const formatOf = ({ identity }: LoaderInput): StatesFormat => ({
  captures: identity.layers.length + (identity.captureFinal ? 1 : 0),
  captureFinal: identity.captureFinal,
  hidden: identity.hiddenSize,
  dtype: identity.dtype,
})

const wantedOrder = ({ train }: LoaderInput): WantedOrder => ({
  rule: {
    seed: train.seed,
    shuffleWindow: train.shuffleWindow,
    tokensPerBatch: train.tokensPerBatch,
    anchorRule: train.anchorRule,
    blockSize: train.blockSize,
  },
  split: train.heldOut === null ? null : { seed: train.seed, share: train.heldOut },
})
