/** The rows of a dataset, written for `speculators`, and whose file each of them is to have. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { contentHash } from '../dataset/fingerprint.ts'
import type { Dataset } from '../dataset/rows.ts'
import { type DatasetRow, writeDataset } from '../dataset/write.ts'
import { hasCode } from '../failure.ts'
import { hashWords } from '../hash-words.ts'
import { stored } from '../manifest/entry.ts'
import type { EntryTable } from '../manifest/table.ts'

/** For each row, where its sample is. */
export interface RowFiles {
  /** int32 [rows]: the row of the table that has its sample; −1: none is stored. */
  readonly entries: Int32Array
  /** int32 [rows]: the first row with the same token ids, itself perhaps; −1: none is stored. */
  readonly owners: Int32Array
}

const none = -1
const idBytes = 5
const rowsPerShard = 100_000

/** What the written dataset takes, about: an id and a mask value for each token, and lengths. */
export const rowBytes = (dataset: Dataset): number =>
  dataset.lengths().reduce((sum, tokens) => sum + Math.max(0, tokens) * idBytes + 16, 0)

/**
 * Writes all rows, as `writeDataset` does, in their order; of a row that is no use as data nothing
 * but its place. What was written before is read for its hashes alone.
 *
 * @throws  Failure `corrupt`: the dataset is damaged
 */
export async function writeRows(
  dir: string,
  { dataset, table }: { readonly dataset: Dataset; readonly table: EntryTable },
): Promise<RowFiles> {
  const files = new FilesOfRows(dataset.rows, table)
  const rows = rowsOf(dataset, files)
  if (await isThere(join(dir, 'state.json'))) for (const _ of rows);
  else {
    const shards = Math.ceil(dataset.rows / rowsPerShard)
    await writeDataset(dir, { rows, count: dataset.rows, shards, format: 'torch' })
  }
  return files
}

function* rowsOf(dataset: Dataset, files: FilesOfRows): Generator<DatasetRow> {
  for (let row = 0; row < dataset.rows; row++) {
    const sample = dataset.read(row)
    if ('unusable' in sample) {
      yield { inputIds: new Int32Array(), lossMask: new Uint8Array() }
      continue
    }
    const { ids, mask } = sample
    files.note(row, ids)
    yield { inputIds: ids, lossMask: mask ?? new Uint8Array(ids.length).fill(1) }
  }
}

class FilesOfRows implements RowFiles {
  readonly entries: Int32Array
  readonly owners: Int32Array
  readonly #table: EntryTable
  /** By row of the table. */
  readonly #first: Int32Array

  constructor(rows: number, table: EntryTable) {
    this.entries = new Int32Array(rows).fill(none)
    this.owners = new Int32Array(rows).fill(none)
    this.#table = table
    this.#first = new Int32Array(table.size).fill(none)
  }

  note(row: number, ids: Int32Array): void {
    const entry = this.#table.findWords(hashWords(contentHash(ids)), 0)
    if (entry < 0 || this.#table.statusAt(entry) !== stored) return
    if (this.#first[entry] === none) this.#first[entry] = row
    this.entries[row] = entry
    this.owners[row] = this.#first[entry]
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}
