/**
 * Finds where each record batch lies in an Arrow IPC stream: reads messages' metadata, and no body.
 * A file that ends before its last message does is refused here, so that no row is missed later.
 *
 * @source Arrow columnar format, "Encapsulated message format" and "IPC Streaming Format"
 */
import { CompressionType, Message, MessageHeader, MetadataVersion, type Schema } from 'apache-arrow'
import { Failure } from '../failure.ts'
import type { ArrowFile } from './arrow-file.ts'
import { checkMetadataBounds } from './metadata-bounds.ts'

/** One record batch: what its metadata says, and where its body lies. Offsets in bytes. */
export interface BatchLayout {
  /** Of its message, from the start of the file. */
  readonly at: number
  readonly bodyAt: number
  readonly bodyBytes: number
  readonly rows: number
  readonly nodes: readonly { readonly length: number; readonly nullCount: number }[]
  /** `offset` counts from the start of the body. */
  readonly buffers: readonly { readonly offset: number; readonly length: number }[]
  readonly variadicBufferCounts: readonly number[]
  readonly version: MetadataVersion
}

interface StreamLayout {
  readonly schema: Schema
  readonly batches: readonly BatchLayout[]
}

/** No writer needs so much to describe a batch: a damaged length would ask for it. */
const metadataBytesMax = 64 * 2 ** 20

/**
 * @throws Failure `corrupt`: cut or damaged, with its offset; `invalid`: no stream, or compressed
 */
export function readStream(file: ArrowFile): StreamLayout {
  refuseOtherFormats(file)
  const first = readMessage(file, 0)
  if (!first) throw damaged(file, 0, 'it ends before its schema')
  if (!first.message.isSchema()) {
    throw damaged(file, 0, 'its first message is no schema', { found: typeName(first.message) })
  }
  const schema = schemaOf(file, first.message)
  const batches: BatchLayout[] = []
  for (let at = first.end; ; ) {
    const next = readMessage(file, at)
    if (!next) return { schema, batches }
    const { message } = next
    if (message.isRecordBatch()) {
      batches.push(batchLayout(file, at, message, next.bodyAt))
    }
    // Dictionaries belong to columns that are never read here.
    else if (!message.isDictionaryBatch()) {
      throw damaged(file, at, 'a message is no record batch', { found: typeName(message) })
    }
    at = next.end
  }
}

interface Encapsulated {
  readonly message: Message<MessageHeader>
  readonly bodyAt: number
  /** Where the next message starts. */
  readonly end: number
}

/** The message at `at`; undefined where the stream ends there, with its marker or without. */
function readMessage(file: ArrowFile, at: number): Encapsulated | undefined {
  if (at === file.size) return undefined
  const { metadataAt, metadataBytes } = readPrefix(file, at)
  if (metadataBytes === 0) {
    // Streams laid end to end would lose all rows but the first's, unseen.
    if (metadataAt !== file.size) {
      throw damaged(file, metadataAt, 'bytes follow its end', { found: file.size - metadataAt })
    }
    return undefined
  }
  const bodyAt = metadataAt + metadataBytes
  if (metadataBytes < 0 || metadataBytes > metadataBytesMax || bodyAt > file.size) {
    const found = file.size - metadataAt
    throw damaged(file, at, 'metadata ends early', { want: metadataBytes, found })
  }
  const message = decode(file, at, file.read(metadataAt, metadataBytes))
  const end = bodyAt + message.bodyLength
  if (message.bodyLength < 0 || end > file.size) {
    const found = file.size - bodyAt
    throw damaged(file, at, 'a body ends early', { want: message.bodyLength, found })
  }
  return { message, bodyAt, end }
}

/** Since Arrow 0.15 a marker precedes the length, so that metadata starts on 8 bytes. */
function readPrefix(file: ArrowFile, at: number): { metadataAt: number; metadataBytes: number } {
  const int32 = (from: number): number => {
    if (from + 4 > file.size) {
      throw damaged(file, from, 'a length ends early', { want: 4, found: file.size - from })
    }
    return new DataView(file.read(from, 4).buffer).getInt32(0, true)
  }
  const first = int32(at)
  if (first !== -1) return { metadataAt: at + 4, metadataBytes: first }
  return { metadataAt: at + 8, metadataBytes: int32(at + 4) }
}

function decode(
  file: ArrowFile,
  at: number,
  metadata: Uint8Array<ArrayBuffer>,
): Message<MessageHeader> {
  let message: Message<MessageHeader>
  try {
    checkMetadataBounds(metadata)
    message = Message.decode(metadata)
  } catch (cause) {
    throw damaged(file, at, 'metadata cannot be decoded', { cause })
  }
  if (message.version !== MetadataVersion.V4 && message.version !== MetadataVersion.V5) {
    const found = MetadataVersion[message.version] ?? message.version
    throw damaged(file, at, 'metadata version is unknown', { want: 'V4 or V5', found })
  }
  return message
}

function schemaOf(file: ArrowFile, message: Message<MessageHeader.Schema>): Schema {
  try {
    const schema = message.header()
    // Naming its types looks at every child, and throws where one is missing.
    String(schema)
    return schema
  } catch (cause) {
    throw new Failure('invalid', `a dataset file's schema cannot be read. file=${file.path}`, {
      remedy: 'Where a column has a type that is not known here, save the dataset without it.',
      cause,
    })
  }
}

function headerOf<Header>(file: ArrowFile, at: number, message: { header(): Header }): Header {
  try {
    return message.header()
  } catch (cause) {
    throw damaged(file, at, 'metadata cannot be decoded', { cause })
  }
}

function batchLayout(
  file: ArrowFile,
  at: number,
  message: Message<MessageHeader.RecordBatch>,
  bodyAt: number,
): BatchLayout {
  const header = headerOf(file, at, message)
  const bodyBytes = message.bodyLength
  if (header.compression) {
    const codec = CompressionType[header.compression.type] ?? `codec ${header.compression.type}`
    throw new Failure(
      'invalid',
      `an Arrow file is compressed; this version reads others. file=${file.path}, codec=${codec}`,
      { remedy: 'Write it again uncompressed (`save_to_disk` does; pyarrow: compression=None).' },
    )
  }
  for (const { offset, length } of header.buffers) {
    if (offset < 0 || length < 0 || offset + length > bodyBytes) {
      const want = offset + length
      throw damaged(file, at, 'a buffer leaves its body', { want, found: bodyBytes })
    }
  }
  if (header.length < 0)
    throw damaged(file, at, 'a row count is negative', { found: header.length })
  const { nodes, buffers, variadicBufferCounts, length: rows } = header
  const version = message.version
  return { at, bodyAt, bodyBytes, rows, nodes, buffers, variadicBufferCounts, version }
}

const otherFormats: readonly (readonly [magic: RegExp, name: string, remedy: string])[] = [
  [
    /^ARROW1/,
    'Arrow IPC file format',
    'Write it as a stream (`save_to_disk` does; pyarrow: ipc.new_stream).',
  ],
  [/^FEA1/, 'Feather version 1', 'Write it with `save_to_disk`.'],
  [/^PAR1/, 'Parquet', 'Load it with `datasets` and write it with `save_to_disk`.'],
  [/^\s*[[{]/, 'JSON', 'Tokenize it and write it with `save_to_disk`.'],
]

function refuseOtherFormats(file: ArrowFile): void {
  if (file.size === 0) throw damaged(file, 0, 'the file is empty')
  const start = Buffer.from(file.read(0, Math.min(8, file.size))).toString('latin1')
  for (const [magic, name, remedy] of otherFormats) {
    if (magic.test(start)) {
      throw new Failure(
        'invalid',
        `a dataset file is ${name}; this version reads Arrow IPC streams. file=${file.path}`,
        { remedy },
      )
    }
  }
}

const typeName = (message: Message<MessageHeader>): string =>
  MessageHeader[message.headerType] ?? `type ${message.headerType}`

interface Damage {
  readonly want?: number | string
  readonly found?: number | string
  readonly cause?: unknown
}

function damaged(file: ArrowFile, at: number, fact: string, damage: Damage = {}): Failure {
  const want = damage.want === undefined ? '' : `, want=${damage.want}`
  const found = damage.found === undefined ? '' : `, found=${damage.found}`
  return new Failure(
    'corrupt',
    `not a whole Arrow stream: ${fact}. file=${file.path}, offset=${at}${want}${found}`,
    { remedy: 'The file is cut or damaged: copy or write it again.', cause: damage.cause },
  )
}
