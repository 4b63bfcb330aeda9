/** One record batch, opened: judges its rows. Small batches are held; of big ones only offsets. */
import type { ArrowFile } from './arrow-file.ts'
import type { Columns, ItemType } from './columns.ts'
import { IntReader, ListReader } from './list-reader.ts'
import type { BatchRegions } from './regions.ts'
import { hasNegative, toFlags, toInt32 } from './values.ts'

/** Why a row is no use as data. */
export type SkipReason =
  | 'null row'
  | 'lengths differ'
  | 'empty'
  | 'null token id'
  | 'token id out of range'
  | 'null mask value'
  | 'token id beyond vocabulary'
  | 'no supervised token'
  | 'too long'

/** A row that can be used, in arrays of its caller's own. */
export interface Sample {
  /** [tokens]; each in [0, 2^31). */
  readonly ids: Int32Array<ArrayBuffer>
  /** [tokens], 1 where the token is trained on, else 0; null where the dataset has no loss mask. */
  readonly mask: Uint8Array<ArrayBuffer> | null
}

/** A row that cannot, and the first thing that is wrong with it. */
export interface Unusable {
  readonly unusable: SkipReason
}

export class OpenBatch {
  /** What it holds in memory. */
  readonly bytes: number
  readonly #inputIds: ListReader<Columns['inputIds']['item']>
  readonly #lossMask: ListReader<ItemType> | null
  readonly #seqLen: IntReader | null

  /** @param heldBytesMax  a batch with more is not held: its values are read row by row */
  constructor(file: ArrowFile, columns: Columns, regions: BatchRegions, heldBytesMax: number) {
    const bytes = bytesOf(regions)
    const hold = bytes.offsets + bytes.values <= heldBytesMax
    this.bytes = bytes.offsets + (hold ? bytes.values : 0)
    const { rows, inputIds, lossMask, seqLen } = regions
    this.#inputIds = new ListReader(file, columns.inputIds, inputIds, { rows, hold })
    this.#lossMask =
      columns.lossMask && lossMask
        ? new ListReader(file, columns.lossMask, lossMask, { rows, hold })
        : null
    this.#seqLen = columns.seqLen && seqLen ? new IntReader(file, columns.seqLen, seqLen) : null
  }

  /** @param row  counted from the start of the batch */
  read(row: number): Sample | Unusable {
    const idsAt = this.#inputIds.spans.of(row)
    const maskAt = this.#lossMask?.spans.of(row)
    if (!idsAt || (this.#lossMask && !maskAt)) return { unusable: 'null row' }
    const stated = this.#seqLen?.read(row) ?? idsAt.count
    if (stated !== idsAt.count || (maskAt && maskAt.count !== idsAt.count)) {
      return { unusable: 'lengths differ' }
    }
    if (idsAt.count === 0) return { unusable: 'empty' }
    if (this.#inputIds.hasNull(idsAt)) return { unusable: 'null token id' }
    const ids = toInt32(this.#inputIds.read(idsAt).bytes, this.#inputIds.item, idsAt.count)
    if (hasNegative(ids)) return { unusable: 'token id out of range' }
    if (!this.#lossMask || !maskAt) return { ids, mask: null }
    if (this.#lossMask.hasNull(maskAt)) return { unusable: 'null mask value' }
    const { bytes, first } = this.#lossMask.read(maskAt)
    return { ids, mask: toFlags(bytes, this.#lossMask.item, { from: first, count: maskAt.count }) }
  }
}

function bytesOf({ inputIds, lossMask, seqLen }: BatchRegions): {
  offsets: number
  values: number
} {
  const sum = { offsets: (seqLen?.values.bytes ?? 0) + (seqLen?.validity?.bytes ?? 0), values: 0 }
  for (const list of [inputIds, lossMask]) {
    if (!list) continue
    sum.offsets += (list.offsets?.bytes ?? 0) + (list.validity?.bytes ?? 0)
    sum.values += list.items.values.bytes + (list.items.validity?.bytes ?? 0)
  }
  return sum
}
