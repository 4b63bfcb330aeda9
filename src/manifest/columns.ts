/** Entries as the columns of an Arrow record batch, both ways; types and bytes, no meaning. */
import {
  type Data,
  Field,
  FixedSizeBinary,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
} from 'apache-arrow'
import { type EntryRows, hashBytes } from './entry.ts'

const hash = new FixedSizeBinary(16)
const text = new Utf8()
const [uint8, uint16, uint32, uint64] = [new Uint8(), new Uint16(), new Uint32(), new Uint64()]

export const fields = [
  new Field('hash', hash, false),
  new Field('key', text, true),
  new Field('offset', uint64, false),
  new Field('length', uint64, false),
  new Field('tokens', uint32, false),
  new Field('crc32', uint32, false),
  new Field('status', uint8, false),
  new Field('reason', text, true),
  new Field('attempt', uint16, false),
]

export function toBatch(rows: EntryRows): RecordBatch {
  const length = rows.count
  const plain = { length, nullCount: 0 }
  const attempts = rows.attempts?.subarray(0, length) ?? new Uint16Array(length)
  const children = [
    makeData({ ...plain, type: hash, data: hashBytes(rows) }),
    textData(length, (row) => rows.key(row)),
    makeData({ ...plain, type: uint64, data: wide(rows.offsets, length) }),
    makeData({ ...plain, type: uint64, data: wide(rows.lengths, length) }),
    makeData({ ...plain, type: uint32, data: rows.tokens.subarray(0, length) }),
    makeData({ ...plain, type: uint32, data: rows.crc32s.subarray(0, length) }),
    makeData({ ...plain, type: uint8, data: rows.statuses.subarray(0, length) }),
    textData(length, (row) => rows.reason(row)),
    makeData({ ...plain, type: uint16, data: attempts }),
  ]
  const data = makeData({ ...plain, type: new Struct(fields), children })
  return new RecordBatch(new Schema(fields), data)
}

/** Doubles as 64-bit numbers, without a BigInt each. */
function wide(numbers: Float64Array | null, count: number): BigUint64Array {
  const words = new BigUint64Array(count)
  if (!numbers) return words
  const halves = new Uint32Array(words.buffer)
  for (let i = 0; i < count; i++) {
    const n = numbers[i] ?? 0
    halves[2 * i] = n % 2 ** 32
    halves[2 * i + 1] = Math.floor(n / 2 ** 32)
  }
  return words
}

function textData(length: number, textOf: (row: number) => string | null): Data<Utf8> {
  const valueOffsets = new Int32Array(length + 1)
  const nullBitmap = new Uint8Array(Math.ceil(length / 8))
  const pieces: Buffer[] = []
  let [end, nullCount] = [0, 0]
  for (let row = 0; row < length; row++) {
    const value = textOf(row)
    if (value === null) nullCount++
    else {
      nullBitmap[row >> 3] = (nullBitmap[row >> 3] ?? 0) | (1 << (row & 7))
      end += pieces[pieces.push(Buffer.from(value)) - 1]?.length ?? 0
    }
    valueOffsets[row + 1] = end
  }
  const data = Buffer.concat(pieces)
  return makeData({ type: text, length, nullCount, nullBitmap, valueOffsets, data })
}

/** @throws RangeError where a column is not what its type and the batch's length say */
export function fromBatch(batch: RecordBatch): EntryRows {
  const count = batch.numRows
  const [hash, key, offset, length, tokens, crc, status, reason, attempt] = batch.data.children
  const attempts = words16(attempt, count)
  return {
    count,
    words: words32(hash, count * 4),
    lengths: words64(length, count) ?? new Float64Array(count),
    tokens: words32(tokens, count),
    crc32s: words32(crc, count),
    statuses: bytesOf(status, count),
    offsets: words64(offset, count),
    attempts: attempts.some((n) => n !== 0) ? attempts : null,
    key: texts(batch, { column: 1, data: key }),
    reason: texts(batch, { column: 7, data: reason }),
  }
}

/** A column's bytes. Throws where a null or a short buffer hides in them. */
function bytesOf(data: Data | undefined, length: number): Uint8Array {
  const values: unknown = data?.values
  if (!data || !ArrayBuffer.isView(values) || values.byteLength < length || data.nullCount > 0) {
    throw new RangeError(`column is short or has nulls. type=${data?.type}, wanted bytes=${length}`)
  }
  return new Uint8Array(values.buffer, values.byteOffset, length)
}

function words32(data: Data | undefined, count: number): Uint32Array {
  const bytes = bytesOf(data, count * 4)
  return new Uint32Array(bytes.buffer, bytes.byteOffset, count)
}

function words16(data: Data | undefined, count: number): Uint16Array {
  const bytes = bytesOf(data, count * 2)
  return new Uint16Array(bytes.buffer, bytes.byteOffset, count)
}

/** 64-bit numbers as doubles, without a BigInt each; null where all are 0. */
function words64(data: Data | undefined, count: number): Float64Array | null {
  const bytes = bytesOf(data, count * 8)
  const halves = new Uint32Array(bytes.buffer, bytes.byteOffset, count * 2)
  if (halves.every((half) => half === 0)) return null
  const numbers = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    numbers[i] = (halves[2 * i] ?? 0) + (halves[2 * i + 1] ?? 0) * 2 ** 32
  }
  return numbers
}

function texts(
  batch: RecordBatch,
  { column, data }: { readonly column: number; readonly data: Data | undefined },
): (row: number) => string | null {
  if (!data || data.nullCount === batch.numRows) return () => null
  const vector = batch.getChildAt(column)
  return (row) => {
    const value: unknown = vector?.get(row)
    return typeof value === 'string' ? value : null
  }
}
