/**
 * Encodes a safetensors file as a header and the tensors' own memory, nothing copied. Where the
 * bytes go is the caller's affair.
 */

import { crc32 } from 'node:zlib'
import { Failure } from '../failure.ts'
import { type DType, dtypeBits } from '../tensor/dtype.ts'
import { maxHeaderBytes, prefixBytes } from './header.ts'

/** One tensor of a file to be. */
export interface TensorToWrite {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  /** Little-endian, row-major; whole, or in pieces that follow each other. */
  readonly data: Uint8Array | readonly Uint8Array[]
}

interface Piece {
  readonly tensor: TensorToWrite
  readonly bytes: number
}

/** All that a typed array can ask for. */
const alignmentBytes = 8
const metadataKey = '__metadata__'
const dtypeOrder = new Map(Object.keys(dtypeBits).map((dtype, rank) => [dtype, rank]))

/**
 * The same tensors and metadata give the same bytes, in whatever order they come: tensors are laid
 * out as the official writer does, by type and then by name, except that one whose length is not a
 * multiple of 8 goes last. So every tensor starts at a multiple of 8.
 *
 * @returns  the file in parts: the header, then the tensors' data
 * @throws   Failure `invalid`: data that differ from type and shape, a name that is taken or cannot
 *           be written, or two tensors whose lengths are no multiples of 8: padding is not legal
 * @source   safetensors 0.8.0, `serialize`
 */
export function encodeSafetensors(
  tensors: readonly TensorToWrite[],
  metadata?: Readonly<Record<string, string>>,
): Uint8Array[] {
  const pieces = layOut(tensors)
  const entries: string[] = []
  if (metadata) entries.push(`${quote(metadataKey)}:${encodeMetadata(metadata)}`)
  let end = 0
  for (const { tensor, bytes } of pieces) {
    const { name, dtype, shape } = tensor
    const start = end
    end += bytes
    entries.push(`${quote(name)}:${JSON.stringify({ dtype, shape, data_offsets: [start, end] })}`)
  }
  return [encodeHeader(`{${entries.join(',')}}`), ...pieces.flatMap(({ tensor }) => tensor.data)]
}

/** CRC-32 (zlib's) of the parts as one file. */
export const crc32OfParts = (parts: readonly Uint8Array[]): number =>
  parts.reduce((crc, part) => crc32(part, crc), 0)

function layOut(tensors: readonly TensorToWrite[]): Piece[] {
  const names = new Set<string>([metadataKey])
  const pieces = tensors.map((tensor) => {
    const { name } = tensor
    if (names.has(name)) {
      throw new Failure('invalid', `tensor's name is taken. tensor=${quote(name)}`)
    }
    names.add(name)
    return { tensor, bytes: checkedBytes(tensor) }
  })
  pieces.sort((a, b) => compareTensors(a.tensor, b.tensor))
  const whole = pieces.filter((piece) => !isRagged(piece))
  const ragged = pieces.filter(isRagged)
  if (ragged.length <= 1) return [...whole, ...ragged]
  const found = ragged.map(({ tensor, bytes }) => `${quote(tensor.name)} (${bytes} bytes)`)
  throw new Failure(
    'invalid',
    `two tensors are no multiple of ${alignmentBytes} bytes long. found=${found.join(', ')}`,
    { remedy: 'Write all but one of them to files of their own.' },
  )
}

const isRagged = ({ bytes }: Piece): boolean => bytes % alignmentBytes !== 0

const compareTensors = (a: TensorToWrite, b: TensorToWrite): number =>
  (dtypeOrder.get(b.dtype) ?? 0) - (dtypeOrder.get(a.dtype) ?? 0) || compareText(a.name, b.name)

/** By bytes of UTF-8, as Rust sorts. */
const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

function checkedBytes({ name, dtype, shape, data }: TensorToWrite): number {
  const bits = shape.reduce((product, dimension) => product * dimension, dtypeBits[dtype])
  const found = [data].flat().reduce((sum, part) => sum + part.byteLength, 0)
  const counted = shape.every((dimension) => Number.isSafeInteger(dimension) && dimension >= 0)
  if (counted && found * 8 === bits) return found
  const facts = `tensor=${quote(name)}, want=${bits / 8} bytes, found=${found}`
  throw new Failure('invalid', `tensor's data differ from its type and shape. ${facts}`)
}

function encodeMetadata(metadata: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(metadata).sort(([a], [b]) => compareText(a, b))
  return `{${sorted.map(([key, text]) => `${quote(key)}:${quote(text)}`).join(',')}}`
}

/** The length and the JSON, filled up with spaces, so that the data start at a multiple of 8. */
function encodeHeader(json: string): Uint8Array {
  const jsonBytes = Buffer.byteLength(json)
  const length = Math.ceil(jsonBytes / alignmentBytes) * alignmentBytes
  if (length > maxHeaderBytes) {
    throw new Failure(
      'invalid',
      `header is larger than readers take. max=${maxHeaderBytes} bytes, found=${length}`,
    )
  }
  const header = Buffer.alloc(prefixBytes + length, ' ')
  header.writeBigUInt64LE(BigInt(length))
  header.write(json, prefixBytes)
  return header
}

function quote(text: string): string {
  // Half a surrogate pair has no UTF-8, and no reader takes its escape.
  if (/\p{Surrogate}/u.test(text)) {
    throw new Failure('invalid', `text is no Unicode. text=${JSON.stringify(text)}`)
  }
  return JSON.stringify(text)
}
