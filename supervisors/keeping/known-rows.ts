import type { Config } from '../../src/config/schema.ts'
import { contentHash, datasetFingerprint } from '../../src/dataset/fingerprint.ts'
import { batchId, planBatches } from '../../src/dataset/plan.ts'
import { RowHashes } from '../../src/dataset/row-hashes.ts'
import { usable } from '../../src/dataset/usable.ts'
import { Failure, isFailure } from '../../src/failure.ts'
import { openTarget } from '../../src/models/target.ts'
import { outputBytesPerToken, type Run } from '../../src/run/identity.ts'
import { findRowHashes, type HashesPlace } from '../../src/run/kept-hashes.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { datasetOf, planOf } from '../run/preflight.ts'

/** What is known of a dataset's rows, with the dataset at hand or by their hashes alone. */

export interface RowFacts {
  /** Null: not known, or skipped ever since. */
  readonly hash: string | null
  /** Why it is no use as data. */
  readonly skipped: string | null
}

export interface KnownRows {
  readonly rows: number
  /** @throws Failure `invalid`: there is no such row */
  look(row: number): RowFacts
  /** Rows whose hash begins so, as far as rows have been hashed. */
  find(prefix: string): readonly { readonly row: number; readonly hash: string }[]
  /** The planned batch that a row is computed in; null: in none, or that is not known. */
  batchOf(row: number): string | null
}

/** By the dataset itself: every row can be looked at, read or not. */
export async function rowsOfDataset(
  config: Config,
  run: Run,
  store: ObjectStore,
): Promise<KnownRows> {
  const dataset = datasetOf(config)
  const lengths = dataset.lengths()
  const fingerprint = datasetFingerprint(dataset, lengths, config.dataset.columns.inputIds)
  const hashes = await hashesFor({ work: config.work, store }, (bytes) =>
    RowHashes.decode(bytes, dataset.rows, fingerprint),
  )
  // A run goes on by its configuration, not by the plan that it began with.
  const plan = planOf(config)
  const limits = { vocab: await vocabOf(config), maxTokens: plan.maxTokens }
  return {
    rows: dataset.rows,
    look(row) {
      requireRow(row, dataset.rows)
      const sample = usable(dataset.read(row), limits)
      // It may have been taken while the limits were wider.
      if ('unusable' in sample) return { hash: hashOf(hashes, row), skipped: sample.unusable }
      return { hash: contentHash(sample.ids).toString('hex'), skipped: null }
    },
    find: (prefix) => findIn(hashes, prefix),
    batchOf: (row) => batchOf(row, lengths, { identity: run.identity, plan }),
  }
}

/** By the hashes that lie beside the dataset's copy in the store, and on this machine. */
export async function rowsOfStore(store: ObjectStore, work: string | null): Promise<KnownRows> {
  const hashes = await hashesFor({ work, store }, (bytes) => RowHashes.decodeAny(bytes))
  const rows = hashes?.rows ?? 0
  return {
    rows,
    look(row) {
      requireRow(row, rows)
      return { hash: hashOf(hashes, row), skipped: null }
    },
    find: (prefix) => findIn(hashes, prefix),
    batchOf: () => null,
  }
}

function requireRow(row: number, rows: number): void {
  if (row < rows) return
  throw new Failure('invalid', `there is no such row. row=${row}, rows known=${rows}`, {
    remedy: 'Rows are counted from 0. With --config the dataset itself is looked at.',
  })
}

/** Undefined where nobody has hashed a row of this dataset yet. */
const hashesFor = async (
  place: HashesPlace,
  decode: (bytes: Uint8Array) => RowHashes,
): Promise<RowHashes | undefined> => (await findRowHashes(place, decode))?.hashes

function hashOf(hashes: RowHashes | undefined, row: number): string | null {
  const hash = hashes?.get(row)
  return hash ? Buffer.from(hash).toString('hex') : null
}

function findIn(hashes: RowHashes | undefined, prefix: string) {
  const found: { row: number; hash: string }[] = []
  for (let row = 0; row < (hashes?.rows ?? 0); row++) {
    const hash = hashOf(hashes, row)
    if (hash?.startsWith(prefix)) found.push({ row, hash })
  }
  return found
}

/** A machine without the target can tell all the rest. */
async function vocabOf(config: Config): Promise<number> {
  try {
    return (await openTarget(config.target.path)).vocabSize
  } catch (error) {
    if (isFailure(error)) return Number.POSITIVE_INFINITY
    throw error
  }
}

function batchOf(
  row: number,
  lengths: Int32Array,
  { identity, plan }: Pick<Run, 'identity' | 'plan'>,
): string | null {
  const perToken = outputBytesPerToken(identity)
  const planned = planBatches(lengths, { ...plan, outputBytesPerToken: perToken })
  for (let batch = 0; batch < planned.batches; batch++) {
    if (planned.rows(batch).includes(row)) return batchId(batch)
  }
  return null
}
