/**
 * Manifest files as Arrow IPC streams: entries to bytes and back. A file is a schema whose metadata
 * is the header, record batches, and the end mark; each batch is checked before it is decoded.
 */
import { crc32 } from 'node:zlib'
import { RecordBatch, RecordBatchReader, RecordBatchStreamWriter, Schema } from 'apache-arrow'
import { isFailure } from '../failure.ts'
import { Block } from './block.ts'
import { fields, fromBatch, toBatch } from './columns.ts'
import { type EntryRows, rowFault, rowHash } from './entry.ts'
import {
  damaged,
  formatVersion,
  type Header,
  type HeaderFacts,
  headerMetadata,
  headerText,
  isSealed,
  parseHeader,
  seal,
} from './header.ts'
import { crcText } from './key.ts'

/** A continuation mark and a length of 0 (Arrow columnar format, "IPC Streaming Format"). */
export const endMark = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)

const columns = fields.join(', ')

/** Blocks become record batches, one each. */
export function encodeManifest(blocks: Iterable<EntryRows>, facts: HeaderFacts): Buffer {
  const full = [...blocks].filter((block) => block.count > 0)
  const batches = full.map(encodeBatch)
  const header: Header = {
    ...facts,
    format: formatVersion,
    entries: full.reduce((sum, block) => sum + block.count, 0),
    batches: batches.map((bytes) => [bytes.length, crc32(bytes)]),
  }
  return Buffer.concat([encodeOpening(headerText(header)), ...batches, endMark])
}

/** A file's first message. */
export interface Opening {
  readonly header: Header
  /** The schema message as it is: before any batch of the file it makes a stream by itself. */
  readonly schema: Uint8Array
  /** Where each batch lies in the file. */
  readonly ranges: readonly { readonly start: number; readonly end: number }[]
}

/** Bytes of the schema message that starts here: all that `decodeOpening` needs. */
export const openingLength = (start: Uint8Array): number =>
  start.length < 8
    ? 8
    : 8 + Math.max(0, Buffer.from(start.buffer, start.byteOffset, 8).readInt32LE(4))

/**
 * @param start   at least the schema message
 * @param file    its key, and the size it has
 * @throws        Failure `corrupt`, `invalid` (another format)
 */
export function decodeOpening(
  start: Uint8Array,
  file: { readonly key: string; readonly size: number },
): Opening {
  try {
    const schema = aligned([start.subarray(0, openingLength(start))])
    if (!isSealed(schema)) throw damaged(file.key, 'its header is not what was written')
    const found = RecordBatchReader.from(schema).open().schema
    const have = found.fields.join(', ')
    if (have !== columns) throw damaged(file.key, `columns: want=${columns}, found=${have}`)
    const header = parseHeader(found.metadata, file.key)
    let end = schema.length
    const ranges = header.batches.map(([length]) => {
      const start = end
      end += length
      return { start, end }
    })
    const size = end + endMark.length
    if (file.size !== size) throw damaged(file.key, `bytes: want=${size}, found=${file.size}`)
    return { header, schema, ranges }
  } catch (error) {
    throw isFailure(error) ? error : damaged(file.key, 'its header cannot be read', error)
  }
}

/**
 * The entries of one batch, as views where the bytes allow it.
 *
 * @throws Failure `corrupt`: the bytes are not what the header says, or a value is not possible
 */
export function decodeBatch(
  opening: Opening,
  batch: { readonly key: string; readonly number: number; readonly bytes: Uint8Array },
): EntryRows {
  const { key, number, bytes } = batch
  const [length, crc] = opening.header.batches[number] ?? [0, 0]
  if (bytes.length !== length) {
    throw damaged(key, `batch=${number}, bytes: want=${length}, found=${bytes.length}`)
  }
  if (crc32(bytes) !== crc) {
    throw damaged(
      key,
      `batch=${number}, checksum: want=${crcText(crc)}, found=${crcText(crc32(bytes))}`,
    )
  }
  const rows = decodeRows(opening, batch)
  for (let row = 0; row < rows.count; row++) {
    const fault = rowFault(rows, row)
    if (fault) throw damaged(key, `batch=${number}, hash=${rowHash(rows, row)}, ${fault}`)
  }
  return rows
}

/** Whether these bytes are a manifest file, all of it and undamaged. */
export function isWhole(bytes: Uint8Array, key: string): boolean {
  try {
    const opening = decodeOpening(bytes, { key, size: bytes.length })
    for (const [number, { start, end }] of opening.ranges.entries()) {
      decodeBatch(opening, { key, number, bytes: bytes.subarray(start, end) })
    }
    return true
  } catch (error) {
    if (isFailure(error, 'corrupt')) return false
    throw error
  }
}

function decodeRows(
  opening: Opening,
  {
    key,
    number,
    bytes,
  }: { readonly key: string; readonly number: number; readonly bytes: Uint8Array },
): EntryRows {
  try {
    const [batch, ...more] = RecordBatchReader.from(aligned([opening.schema, bytes]))
    if (!batch || more.length > 0) throw damaged(key, `batch=${number} is not one record batch`)
    return fromBatch(batch)
  } catch (error) {
    throw isFailure(error) ? error : damaged(key, `batch=${number} cannot be read`, error)
  }
}

/** One record batch as a stream writes it, without the schema before it and the end mark behind. */
export function encodeBatch(rows: EntryRows): Uint8Array {
  const whole = stream(toBatch(rows))
  return whole.subarray(openingLength(whole), whole.length - endMark.length)
}

/**
 * The schema message, sealed, with this text of a header. Texts of one length make messages of one
 * length.
 */
export function encodeOpening(text: string): Buffer {
  const { data } = toBatch(new Block(0))
  const whole = stream(new RecordBatch(new Schema(fields, headerMetadata(text)), data))
  const message = Buffer.from(whole.subarray(0, openingLength(whole)))
  seal(message)
  return message
}

const stream = (batch: RecordBatch): Uint8Array =>
  RecordBatchStreamWriter.writeAll([batch]).toUint8Array(true)

/** A copy that starts at a border of 8 bytes, as Arrow's readers of wide columns expect. */
function aligned(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
