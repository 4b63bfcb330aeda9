/**
 * Which samples a training sees, in which order: what its batches follow from, and all that a
 * resume needs to make the very same ones, on whatever machine and however the store has grown
 * since. It only grows; a checkpoint keeps it whole.
 *
 * While extraction runs, samples are admitted in groups, as they came; otherwise all are one group.
 *
 * Bytes, little-endian: magic `DSORDER1`, then records of length (uint32), CRC-32 (uint32) and that
 * many bytes. The first is the header, JSON; each further one is a group: the 16 bytes of each
 * hash, then the length of each in tokens (uint32). An empty one says that no more will come.
 */
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { Failure, isFailure } from '../failure.ts'
import { NumberedHashes } from './numbered-hashes.ts'
import type { PackRule } from './pack.ts'
import { splitSchema } from './split.ts'

const magic = 'DSORDER1'
const recordHead = 8
const sampleBytes = 20

const headerSchema = z.strictObject({
  format: z.literal(1),
  /** Id of the training. */
  training: z.string(),
  rule: z.strictObject({
    seed: z.int(),
    shuffleWindow: z.int().positive(),
    tokensPerBatch: z.int().positive(),
    /** Which positions may be anchors: samples without any were left out. */
    anchorRule: z.string(),
    blockSize: z.int().positive(),
  }),
  /** Null: nothing is held out. */
  split: splitSchema.nullable(),
})

type Header = z.output<typeof headerSchema>

export interface OrderRule extends PackRule {
  readonly anchorRule: string
  readonly blockSize: number
}

/** An order log in memory: one training's, open for more until it is closed. */
export class OrderLog {
  readonly training: string
  readonly rule: OrderRule
  readonly split: Header['split']
  readonly samples = new NumberedHashes()
  /** Where each group ends, among the samples. */
  readonly #ends: number[] = []
  #closed = false

  constructor(header: Omit<Header, 'format'>) {
    this.training = header.training
    this.rule = header.rule
    this.split = header.split
  }

  /** Whether no more samples will come. */
  get closed(): boolean {
    return this.#closed
  }

  get groups(): number {
    return this.#ends.length
  }

  /** The samples of a group, by their numbers: from `start` to `end`. */
  group(group: number): { readonly start: number; readonly end: number } {
    return { start: this.#ends[group - 1] ?? 0, end: this.#ends[group] }
  }

  /**
   * One more group.
   *
   * @param write  given what the log's bytes grow by, before anybody may use the group; what it
   *               throws leaves the log as it was
   */
  admit(hashes: Uint8Array, tokens: Uint32Array, write: (bytes: Buffer) => void = () => {}): void {
    if (this.#closed) throw new Error('a closed order log admits no sample')
    if (tokens.length === 0) throw new RangeError('a group has samples')
    write(groupRecord(hashes, tokens))
    this.samples.add(hashes, tokens)
    this.#ends.push(this.samples.count)
  }

  /** No more will come. @param write  as for `admit` */
  close(write: (bytes: Buffer) => void = () => {}): void {
    write(record())
    this.#closed = true
  }

  encode(): Buffer {
    const { training, rule, split } = this
    const header = JSON.stringify({ format: 1, training, rule, split })
    const groups = this.#ends.map((_, group) => this.#encodeGroup(group))
    const end = this.#closed ? [record()] : []
    return Buffer.concat([Buffer.from(magic), record(Buffer.from(header)), ...groups, ...end])
  }

  /** Whether all that this log says, the other says too: it may have gone further. */
  isStartOf(other: OrderLog): boolean {
    const ours = this.encode()
    return ours.equals(other.encode().subarray(0, ours.length))
  }

  /**
   * @param tail  `kept`: a last record that is cut or damaged is an error; `dropped`: it was never
   *              written whole, so nobody has used it, and it is left out
   * @throws      Failure `corrupt`; `invalid`: of another version
   */
  static decode(bytes: Uint8Array, tail: 'kept' | 'dropped' = 'kept'): OrderLog {
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    if (whole.toString('latin1', 0, magic.length) !== magic) throw damaged('it is no order log')
    const records = readRecords(whole.subarray(magic.length), tail)
    const log = new OrderLog(parseHeader(records.shift()))
    for (const group of records) log.#take(group)
    return log
  }

  #take(group: Buffer): void {
    if (this.#closed) throw damaged('records come after its end')
    if (group.length === 0) {
      this.#closed = true
      return
    }
    const count = group.length / sampleBytes
    if (!Number.isInteger(count)) throw damaged(`a group of ${group.length} bytes`)
    const tokens = new Uint32Array(count)
    new Uint8Array(tokens.buffer).set(group.subarray(count * 16))
    if (tokens.includes(0)) throw damaged('a sample without tokens')
    this.admit(group.subarray(0, count * 16), tokens)
  }

  #encodeGroup(group: number): Buffer {
    const { start, end } = this.group(group)
    const tokens = this.samples.tokens().subarray(start, end)
    return groupRecord(this.samples.hashes(start, end), tokens)
  }
}

const groupRecord = (hashes: Uint8Array, tokens: Uint32Array): Buffer =>
  record(hashes, new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength))

function record(...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const head = Buffer.alloc(recordHead)
  head.writeUInt32LE(content.length)
  head.writeUInt32LE(crc32(content), 4)
  return Buffer.concat([head, content])
}

function readRecords(bytes: Buffer, tail: 'kept' | 'dropped'): Buffer[] {
  const records: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const start = at + recordHead
    const length = start <= bytes.length ? bytes.readUInt32LE(at) : Number.POSITIVE_INFINITY
    const content = bytes.subarray(start, start + length)
    if (content.length < length || crc32(content) !== bytes.readUInt32LE(at + 4)) {
      if (tail === 'dropped') return records
      throw damaged(`record ${records.length} is cut or changed`)
    }
    records.push(content)
    at = start + length
  }
  return records
}

function parseHeader(bytes: Buffer | undefined): Header {
  if (!bytes) throw damaged('it has no header')
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'))
    const { format } = z.looseObject({ format: z.int() }).parse(json)
    if (format === 1) return headerSchema.parse(json)
    throw new Failure('invalid', `an order log is of another version. want=1, found=${format}`, {
      remedy: 'Use the version of Draftsmith that wrote it, or a later one.',
    })
  } catch (error) {
    throw isFailure(error) ? error : damaged('its header cannot be read', error)
  }
}

const damaged = (fact: string, cause?: unknown): Failure =>
  new Failure('corrupt', `an order log is damaged. ${fact}`, {
    remedy: 'Resume from an earlier checkpoint.',
    cause,
  })
