/** One record batch, opened: its rows can be read. Small batches are held; of big ones only offsets. */
import { Failure } from '../failure.ts'
import { type ArrowFile, withFile } from './arrow-file.ts'
import type { Columns, IntColumn, ItemType, ListColumn } from './columns.ts'
import type { BatchRegions, ListRegions, Region, ValueRegions } from './regions.ts'
import { hasNegative, isSet, toFlags, toInt32 } from './values.ts'

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

export interface Sample {
  /** [tokens]; each in [0, 2^31). */
  readonly ids: Int32Array<ArrayBuffer>
  /** [tokens], 1 where the token is trained on, else 0; null where the dataset has no loss mask. */
  readonly mask: Uint8Array<ArrayBuffer> | null
}

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

/** Which of a column's items are one row's. */
interface Span {
  readonly from: number
  readonly count: number
}

/** Where each row's list lies among the column's items, and which rows are null. */
export class Spans {
  readonly #validity: Uint8Array | undefined
  readonly #offsets: Int32Array | Float64Array | { readonly itemsEach: number }

  /** @throws Failure `corrupt`: offsets fall, or leave the items */
  constructor(file: ArrowFile, column: ListColumn, regions: ListRegions, rows: number) {
    this.#validity = regions.validity && read(file, regions.validity)
    if (typeof column.offsets === 'object') this.#offsets = column.offsets
    else if (!regions.offsets || rows === 0) this.#offsets = new Int32Array(1)
    else {
      const bytes = read(file, regions.offsets)
      this.#offsets = column.offsets === 64 ? toNumbers(bytes) : new Int32Array(bytes.buffer)
      checkOffsets(this.#offsets, regions, { column: column.name, file: file.path })
    }
  }

  /** Undefined: the row is null. */
  of(row: number): Span | undefined {
    if (this.#validity && !isSet(this.#validity, row)) return undefined
    if ('itemsEach' in this.#offsets) {
      const count = this.#offsets.itemsEach
      return { from: row * count, count }
    }
    const from = this.#offsets[row] ?? 0
    return { from, count: (this.#offsets[row + 1] ?? from) - from }
  }
}

function checkOffsets(
  offsets: Int32Array | Float64Array,
  regions: ListRegions,
  names: { readonly column: string; readonly file: string },
): void {
  let before = 0
  for (const offset of offsets) {
    if (offset < before || offset > regions.items.length) {
      throw new Failure(
        'corrupt',
        `a record batch is damaged: list offsets leave their items. column=${names.column}, file=${names.file}, offset=${regions.offsets?.at}, want=${before} to ${regions.items.length}, found=${offset}`,
        { remedy: 'The file is damaged: copy or write it again.' },
      )
    }
    before = offset
  }
}

/** 64-bit offsets; beyond 2^53 they are wrong anyway, and refused as too large. */
const toNumbers = (bytes: Uint8Array<ArrayBuffer>): Float64Array =>
  Float64Array.from(new BigInt64Array(bytes.buffer), Number)

class ListReader<Item extends ItemType> {
  readonly spans: Spans
  readonly item: Item
  readonly #validity: Take | undefined
  readonly #values: Take

  constructor(
    file: ArrowFile,
    column: ListColumn<Item>,
    regions: ListRegions,
    { rows, hold }: { readonly rows: number; readonly hold: boolean },
  ) {
    this.spans = new Spans(file, column, regions, rows)
    this.item = column.item
    const { validity, values } = regions.items
    this.#validity = validity && take(file, validity, hold)
    this.#values = take(file, values, hold)
  }

  hasNull({ from, count }: Span): boolean {
    if (!this.#validity) return false
    const { bytes, first } = packed(this.#validity, 1, { from, count })
    for (let i = first; i < first + count; i++) if (!isSet(bytes, i)) return true
    return false
  }

  /** The span's values are those of `bytes` from the `first` on. */
  read(span: Span): { readonly bytes: Uint8Array<ArrayBuffer>; readonly first: number } {
    return packed(this.#values, this.item.bits, span)
  }
}

class IntReader {
  readonly #validity: Uint8Array | undefined
  readonly #values: Int32Array

  constructor(file: ArrowFile, column: IntColumn, regions: ValueRegions) {
    this.#validity = regions.validity && read(file, regions.validity)
    this.#values = toInt32(read(file, regions.values), column.item, regions.length)
  }

  /** Negative where it is beyond int32; undefined where it is null. */
  read(row: number): number | undefined {
    return this.#validity && !isSet(this.#validity, row) ? undefined : this.#values[row]
  }
}

/** A copy of a region's bytes [at, at + length), for the caller to keep. */
type Take = (at: number, length: number) => Uint8Array<ArrayBuffer>

function take(file: ArrowFile, region: Region, hold: boolean): Take {
  if (hold) {
    const held = read(file, region)
    return (at, length) => held.slice(at, at + length)
  }
  const { path, size } = file
  return (at, length) => withFile(path, (again) => again.read(region.at + at, length), size)
}

/** The whole bytes that hold the span's values of `bits` each. */
function packed(bytesOf: Take, bits: number, { from, count }: Span) {
  const start = Math.floor((from * bits) / 8)
  const end = Math.ceil(((from + count) * bits) / 8)
  return { bytes: bytesOf(start, end - start), first: bits === 1 ? from % 8 : 0 }
}

const read = (file: ArrowFile, { at, bytes }: Region): Uint8Array<ArrayBuffer> =>
  file.read(at, bytes)

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
