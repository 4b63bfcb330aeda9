/**
 * What a manifest file says of itself, in its Arrow schema's metadata, checked before its entries.
 */
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { Failure } from '../failure.ts'
import type { Heads } from './heads.ts'
import { crcText } from './key.ts'
import { isWriterId } from './names.ts'

const headerKey = 'draftsmith.manifest'
const sealKey = 'draftsmith.manifest.seal'
const sealStart = 'opening-crc32='
export const formatVersion = 1

const writerId = z.string().refine(isWriterId, 'not a writer id')
const heads = z
  .record(writerId, z.int().positive())
  .transform((counts): Heads => new Map(Object.entries(counts)))
const common = {
  format: z.literal(formatVersion),
  /** Of the whole file. */
  entries: z.int().nonnegative(),
  /** The record batches in their order: bytes of each, framing and all, and their CRC-32. */
  batches: z.array(z.tuple([z.int().positive(), z.int().nonnegative()])),
}

const headerSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    ...common,
    kind: z.literal('segment'),
    writer: writerId,
    seq: z.int().nonnegative(),
    /**
     * What the writer had read when it began: a later loss of that is noticed. Empty after its
     * first.
     */
    seen: heads,
  }),
  z.strictObject({
    ...common,
    kind: z.literal('snapshot'),
    id: writerId,
    /** The segments whose entries are in here, which alone may be removed. */
    covers: heads,
  }),
])

export type Header = z.output<typeof headerSchema>
export type HeaderFacts =
  | Omit<Extract<Header, { kind: 'segment' }>, 'format' | 'entries' | 'batches'>
  | Omit<Extract<Header, { kind: 'snapshot' }>, 'format' | 'entries' | 'batches'>

/** The header as the file spells it. */
export const headerText = (header: Header): string =>
  JSON.stringify(header, (_, value: unknown) =>
    value instanceof Map ? Object.fromEntries(value) : value,
  )

/** A header's text as schema metadata, with room for the seal. */
export const headerMetadata = (text: string): Map<string, string> =>
  new Map([
    [headerKey, text],
    [sealKey, `${sealStart}${crcText(0)}`],
  ])

/**
 * Writes into a schema message, in place, its own checksum (taken with zeros where it stands), so
 * that a reader can prove the message before it is decoded: Arrow's readers trust every offset in
 * it.
 */
export function seal(message: Buffer): void {
  const at = message.indexOf(sealStart) + sealStart.length
  message.write(crcText(0), at)
  message.write(crcText(crc32(message)), at)
}

export function isSealed(message: Uint8Array): boolean {
  const copy = Buffer.from(message)
  if (copy.indexOf(sealStart) < 0) return false
  seal(copy)
  return copy.equals(message)
}

/**
 * @param name   of the file, for the message
 * @throws       Failure `corrupt`: damaged; `invalid`: written by another version
 */
export function parseHeader(metadata: ReadonlyMap<string, string>, name: string): Header {
  const text = metadata.get(headerKey)
  if (text === undefined) throw damaged(name, `no ${headerKey} in its schema's metadata`)
  const json: unknown = JSON.parse(text)
  requireFormat(json, name)
  return headerSchema.parse(json)
}

const anyFormat = z.looseObject({ format: z.int() })

/** @throws Failure `invalid`: written by another version */
export function requireFormat(json: unknown, name: string): void {
  const { format } = anyFormat.parse(json)
  if (format === formatVersion) return
  throw new Failure(
    'invalid',
    `manifest of another format. key=${name}, want=${formatVersion}, found=${format}`,
    { remedy: 'Use the version of draftsmith that wrote it, or a later one.' },
  )
}

/**
 * A file of the manifest that must not be read past: what it named would be forgotten in silence.
 */
export const damaged = (name: string, fact: string, cause?: unknown): Failure =>
  new Failure('corrupt', `manifest file is damaged. key=${name}, ${fact}`, {
    remedy:
      'Restore this object (from a version or a copy). Or remove everything under manifest/, ' +
      'knowingly: then every sample is extracted again.',
    cause,
  })
