/** A planned batch with its samples in it: gets, proofs, masks. */
import type { ManifestEntry } from '../manifest/entry.ts'
import type { EntryTable } from '../manifest/table.ts'
import type { PlannedBatch } from './course.ts'
import type { Lanes } from './lanes.ts'
import type { LeftOut } from './left-out.ts'
import type { NumberedHashes } from './numbered-hashes.ts'
import { isUnfit, type SampleData, type Unfit } from './open-sample.ts'
import type { SampleReader } from './sample-reader.ts'
import type { TrainableRows } from './trainable-rows.ts'
import {
  BatchUnderWay,
  type StatesFormat,
  type TrainingBatch,
  type TrainingRow,
} from './training-batch.ts'

export interface LoadParts {
  readonly table: Pick<EntryTable, 'get'>
  readonly rows: Pick<TrainableRows, 'read'>
  readonly hasAnchor: (mask: Uint8Array) => boolean
  readonly reader: Pick<SampleReader, 'read'>
  /** Shared by all batches: samples are read in the order of the plans. */
  readonly lanes: Lanes
  readonly format: StatesFormat
  /** Told of each sample that is not used. */
  readonly leftOut: LeftOut
}

interface Wanted extends TrainingRow {
  readonly entry: ManifestEntry | undefined
}

/**
 * A sample that is missing, damaged or without a row leaves its place to padding: which samples
 * share a batch never depends on what others came to.
 *
 * @param samples  those that the batch numbers
 * @throws         Failure `unavailable`, `invalid`: as the store says; the signal's reason
 */
export async function loadBatch(
  planned: PlannedBatch,
  samples: NumberedHashes,
  { signal, ...parts }: LoadParts & { readonly signal: AbortSignal },
): Promise<TrainingBatch> {
  const batch = new BatchUnderWay(planned, parts.format)
  const tokens = samples.tokens()
  const loads = Array.from(planned.samples, async (sample, at) => {
    const row = { hash: samples.hash(sample), tokens: tokens[sample] }
    const entry = parts.table.get(row.hash)
    const load = async () => {
      const found = await readSample({ ...row, entry }, parts, signal)
      if (isUnfit(found)) parts.leftOut.note(row.hash, found.unfit)
      else batch.place(at, row, found)
    }
    await parts.lanes.run(load, entry?.length ?? 0, signal)
  })
  for (const end of await Promise.allSettled(loads)) {
    if (end.status === 'rejected') throw end.reason
  }
  return batch.finish()
}

async function readSample(
  { hash, tokens, entry }: Wanted,
  { rows, hasAnchor, reader }: LoadParts,
  signal: AbortSignal,
): Promise<(SampleData & { readonly mask: Uint8Array }) | Unfit> {
  if (entry?.status !== 'stored') return { unfit: 'the manifest names no object of it' }
  if (entry.tokens !== tokens) return { unfit: `tokens: want=${tokens}, found=${entry.tokens}` }
  const row = rows.read(hash)
  if (!row) return { unfit: 'the dataset has no usable row of its token ids' }
  if (!hasAnchor(row.mask)) return { unfit: 'no block can be anchored in it' }
  const sample = await reader.read(entry, signal)
  if (isUnfit(sample)) return sample
  const isSame = sample.ids.every((id, i) => id === BigInt(row.ids[i]))
  return isSame ? { ...sample, mask: row.mask } : { unfit: 'its row has other token ids' }
}
