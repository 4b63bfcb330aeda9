/**
 * Row → token ids and loss mask, across shards. Record batches are read as rows of them are asked
 * for, and the last used are kept open, up to a bound in bytes. Reads block: the dataset belongs to
 * a thread of its own.
 */
import { type ArrowFile, withFile } from './arrow-file.ts'
import type { Columns } from './columns.ts'
import { Spans } from './list-reader.ts'
import { OpenBatch, type Sample, type Unusable } from './open-batch.ts'
import type { BatchRegions } from './regions.ts'

export interface Shard {
  readonly path: string
  /** In bytes, when it was opened; a shard that changes is refused. */
  readonly size: number
  readonly batches: readonly BatchRegions[]
}

/** A file that the dataset is made of. */
export interface DatasetFile {
  readonly path: string
  /** Below the dataset's root, `/`-separated. */
  readonly relative: string
  readonly bytes: number
}

interface DatasetParts {
  /** What to open below a copied root: `.`, or the name of the one file. */
  readonly entry: string
  readonly files: readonly DatasetFile[]
  /** Null: a dataset without shards, which has no rows either. */
  readonly columns: Columns | null
  readonly shards: readonly Shard[]
  readonly cacheBytes: number
}

interface Located {
  readonly shard: Shard
  readonly batch: BatchRegions
  readonly firstRow: number
}

/** A tokenized dataset, open: `openDataset` makes one. Rows are counted from 0 over all shards. */
export class Dataset {
  readonly rows: number
  readonly entry: string
  readonly #parts: DatasetParts
  readonly #batches: readonly Located[]
  /** By index in `#batches`; the least recently used first. */
  readonly #open = new Map<number, OpenBatch>()
  #openBytes = 0

  constructor(parts: DatasetParts) {
    let rows = 0
    const batches: Located[] = []
    for (const shard of parts.shards) {
      for (const batch of shard.batches) {
        if (batch.rows > 0) batches.push({ shard, batch, firstRow: rows })
        rows += batch.rows
      }
    }
    this.rows = rows
    this.entry = parts.entry
    this.#parts = parts
    this.#batches = batches
  }

  /**
   * The row's sample, in arrays of the caller's own (free to keep or transfer), or why it is none.
   *
   * @param row  0 to rows − 1
   * @throws Failure `corrupt`: a shard is damaged, or has changed since it was opened
   */
  read(row: number): Sample | Unusable {
    if (!Number.isInteger(row) || row < 0 || row >= this.rows) {
      throw new RangeError(`no such row. want=0 to ${this.rows - 1}, found=${row}`)
    }
    const index = this.#indexOf(row)
    return this.#batch(index).read(row - this.#batches[index].firstRow)
  }

  /**
   * Token counts of all rows, −1 for null rows. Reads list offsets only, no token.
   *
   * @returns int32 [rows]
   * @throws  Failure as `read`
   */
  lengths(): Int32Array<ArrayBuffer> {
    const lengths = new Int32Array(this.rows)
    const { columns, shards } = this.#parts
    if (!columns) return lengths
    let row = 0
    for (const shard of shards) {
      const readShard = (file: ArrowFile): void => {
        for (const batch of shard.batches) {
          const spans = new Spans(file, columns.inputIds, batch.inputIds, batch.rows)
          for (let i = 0; i < batch.rows; i++) lengths[row++] = spans.of(i)?.count ?? -1
        }
      }
      withFile(shard.path, readShard, shard.size)
    }
    return lengths
  }

  /** All that must be copied for the dataset to open elsewhere; the order never changes. */
  files(): readonly DatasetFile[] {
    return this.#parts.files
  }

  /** The last batch that starts at or before the row. */
  #indexOf(row: number): number {
    let low = 0
    let high = this.#batches.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#batches[middle].firstRow <= row) low = middle
      else high = middle - 1
    }
    return low
  }

  #batch(index: number): OpenBatch {
    const open = this.#open.get(index) ?? this.#openBatch(index)
    // Set again, it is the most recently used.
    this.#open.delete(index)
    this.#open.set(index, open)
    return open
  }

  #openBatch(index: number): OpenBatch {
    const { columns, cacheBytes } = this.#parts
    const { shard, batch } = this.#batches[index]
    if (!columns) throw new Error('a dataset with batches has columns')
    const open = withFile(
      shard.path,
      (file) => new OpenBatch(file, columns, batch, cacheBytes / 2),
      shard.size,
    )
    this.#openBytes += open.bytes
    for (const [oldest, { bytes }] of this.#open) {
      if (this.#openBytes <= cacheBytes) break
      this.#open.delete(oldest)
      this.#openBytes -= bytes
    }
    return open
  }
}
