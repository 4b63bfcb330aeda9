/** One column of one record batch: which items are a row's, and their bytes. Judges no value. */
import { Failure } from '../failure.ts'
import { type ArrowFile, withFile } from './arrow-file.ts'
import type { IntColumn, ItemType, ListColumn } from './columns.ts'
import type { ListRegions, Region, ValueRegions } from './regions.ts'
import { isSet, toInt32 } from './values.ts'

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
    const from = this.#offsets[row]
    return { from, count: this.#offsets[row + 1] - from }
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
      const place = `column=${names.column}, file=${names.file}, offset=${regions.offsets?.at}`
      const values = `want=${before} to ${regions.items.length}, found=${offset}`
      throw new Failure(
        'corrupt',
        `a record batch is damaged: list offsets leave their items. ${place}, ${values}`,
        { remedy: 'The file is damaged: copy or write it again.' },
      )
    }
    before = offset
  }
}

/** 64-bit offsets; beyond 2^53 they are wrong anyway, and refused as too large. */
const toNumbers = (bytes: Uint8Array<ArrayBuffer>): Float64Array =>
  Float64Array.from(new BigInt64Array(bytes.buffer), Number)

/** @param hold  in memory; otherwise each read opens the file for the row's part */
export class ListReader<Item extends ItemType> {
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

export class IntReader {
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
