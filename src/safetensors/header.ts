/**
 * A safetensors header, read and checked: 8 bytes of length (little-endian), JSON, then the data.
 * Takes what the official reader takes and refuses what it refuses, with one exception: a dimension
 * beyond 2^53, which only an empty tensor can have, is refused rather than rounded.
 *
 * @source  safetensors 0.8.0, https://github.com/huggingface/safetensors#format
 */

import { Failure } from '../failure.ts'
import type { DType } from '../tensor/dtype.ts'
import { type Entry, entryBytes, parseEntry } from './entry.ts'
import { type Json, JsonObject, parseJson } from './json.ts'

/** Where a tensor lies: bytes [start, end) of the file. */
export interface TensorInfo {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly start: number
  readonly end: number
}

/** What a file says of itself, checked against its length. */
export interface SafetensorsHeader {
  /** Empty where the file has none. */
  readonly metadata: ReadonlyMap<string, string>
  /** In the order of the data, which they cover without gap or overlap. */
  readonly tensors: ReadonlyMap<string, TensorInfo>
  /** The header's end, in bytes from the start of the file. */
  readonly dataStart: number
}

/** The file that a header belongs to. */
export interface FileFacts {
  /** For messages. */
  readonly name: string
  readonly bytes: number
}

/** The length that stands before the header. */
export const prefixBytes = 8
export const maxHeaderBytes = 100_000_000

const metadataKey = '__metadata__'
const cutShort = 'The file is not whole, or no safetensors file: copy or download it again.'
const notSafetensors =
  'Look at its first bytes: it may be an error page, a Git LFS pointer or of another format.'

/**
 * Where the header ends, from the file's first 8 bytes.
 *
 * @throws  Failure `corrupt`: no header of that length can be there
 */
export function headerEnd(prefix: Uint8Array, file: FileFacts): number {
  if (prefix.length < prefixBytes) {
    const facts = `file=${file.name}, want=${prefixBytes} bytes, found=${file.bytes}`
    throw corrupt('file is too short for a safetensors header', facts, cutShort)
  }
  const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true)
  if (length > maxHeaderBytes) {
    const facts = `file=${file.name}, max=${maxHeaderBytes} bytes, found=${length}`
    throw corrupt('safetensors header is too large', facts, notSafetensors)
  }
  const end = prefixBytes + Number(length)
  if (end <= file.bytes) return end
  const facts = `file=${file.name}, want=${end} bytes, found=${file.bytes}`
  throw corrupt('file ends within its safetensors header', facts, cutShort)
}

/**
 * @param bytes  the file, or its beginning up to the header's end at least
 * @throws       Failure `corrupt`: the header is malformed or does not fit the file; names file and
 *               tensor
 */
export function parseHeader(bytes: Uint8Array, file: FileFacts): SafetensorsHeader {
  const dataStart = headerEnd(bytes.subarray(0, prefixBytes), file)
  const document = parseText(bytes.subarray(prefixBytes, dataStart), file)
  if (!(document instanceof JsonObject)) {
    throw corrupt('safetensors header is no JSON object', `file=${file.name}`)
  }
  const metadata = parseMetadata(document, file)
  const entries = new Map<string, Entry>()
  for (const [name, value] of document.members) {
    // Of a repeated name the last entry counts, though every one must be well formed.
    if (name !== metadataKey) entries.set(name, parseEntry(value, whereIs(name, file)))
  }
  return { metadata, tensors: layOut(entries, { file, dataStart }), dataStart }
}

function parseText(bytes: Uint8Array, file: FileFacts): Json {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch (cause) {
    throw new Failure('corrupt', `safetensors header is no JSON in UTF-8. file=${file.name}`, {
      cause,
    })
  }
}

function parseMetadata(document: JsonObject, file: FileFacts): Map<string, string> {
  const found = document.members.filter(([key]) => key === metadataKey)
  if (found.length > 1) {
    throw corrupt('header has a field twice', `file=${file.name}, field=${metadataKey}`)
  }
  const metadata = new Map<string, string>()
  const value = found[0]?.[1] ?? null
  if (value === null) return metadata
  if (!(value instanceof JsonObject)) throw malformedMetadata(file)
  for (const [key, text] of value.members) {
    if (typeof text !== 'string') throw malformedMetadata(file, key)
    metadata.set(key, text)
  }
  return metadata
}

function malformedMetadata(file: FileFacts, key?: string): Failure {
  const field = [metadataKey, ...(key === undefined ? [] : [key])].join('.')
  const want = key === undefined ? 'an object' : 'a string'
  return corrupt('header has a malformed field', `file=${file.name}, field=${field}, want=${want}`)
}

/** Checks that the tensors, in the order of their offsets, cover the data exactly. */
function layOut(
  entries: ReadonlyMap<string, Entry>,
  { file, dataStart }: { readonly file: FileFacts; readonly dataStart: number },
): Map<string, TensorInfo> {
  const inOrder = [...entries].sort(
    ([, a], [, b]) => compare(a.start, b.start) || compare(a.end, b.end),
  )
  const dataBytes = file.bytes - dataStart
  let end = 0n
  for (const [name, entry] of inOrder) {
    checkPlace(entry, { after: end, where: whereIs(name, file) })
    end = entry.end
  }
  if (end !== BigInt(dataBytes)) throw notCovered(inOrder, { file, dataBytes })
  return new Map(
    inOrder.map(([name, { dtype, shape, start, end }]) => [
      name,
      {
        dtype,
        shape: shape.map((dimension) => exact(dimension, whereIs(name, file))),
        start: dataStart + Number(start),
        end: dataStart + Number(end),
      },
    ]),
  )
}

function checkPlace(entry: Entry, { after, where }: { after: bigint; where: string }): void {
  const { start, end } = entry
  if (end < start) {
    throw corrupt('tensor ends before it starts', `${where}, start=${start}, end=${end}`)
  }
  if (start !== after) {
    const what =
      start < after ? 'tensor overlaps the one before' : 'bytes before tensor are of no tensor'
    throw corrupt(what, `${where}, want=start at ${after}, found=${start}`)
  }
  const want = entryBytes(entry, where)
  if (end - start === want) return
  const facts = `${where}, want=${want} bytes, found=${end - start}`
  throw corrupt("tensor's bytes differ from its type and shape", facts)
}

function notCovered(
  inOrder: readonly (readonly [name: string, entry: Entry])[],
  { file, dataBytes }: { readonly file: FileFacts; readonly dataBytes: number },
): Failure {
  const cut = inOrder.find(([, entry]) => entry.end > dataBytes)
  if (cut) {
    const [name, { end }] = cut
    const facts = `${whereIs(name, file)}, want=${end} bytes of data, found=${dataBytes}`
    return corrupt('file ends before its tensors do', facts, cutShort)
  }
  const want = inOrder.at(-1)?.[1].end ?? 0
  const facts = `file=${file.name}, want=${want} bytes of data, found=${dataBytes}`
  return corrupt('file goes on after its last tensor', facts)
}

function exact(dimension: bigint, where: string): number {
  const value = Number(dimension)
  if (Number.isSafeInteger(value)) return value
  throw corrupt('dimension of empty tensor is beyond 2^53', `${where}, found=${dimension}`)
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)

const corrupt = (what: string, facts: string, remedy?: string): Failure =>
  new Failure('corrupt', `${what}. ${facts}`, { remedy })

const whereIs = (name: string, file: FileFacts): string =>
  `file=${file.name}, tensor=${JSON.stringify(name)}`
