/** Checksums and tags as S3's headers write them. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Incoming } from './http-answer.ts'
import type { WirePut } from './s3-wire.ts'
import type { Acknowledgement } from './store.ts'

/** CRC-32 as its four bytes, big-endian, in base64. */
export function crcToHeader(crc: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc)
  return bytes.toString('base64')
}

/**
 * Undefined for what is no whole object's CRC-32: the checksum of checksums of an upload in parts.
 */
function crcFromHeader(header: string | undefined): number | undefined {
  if (header === undefined || header.includes('-')) return undefined
  const bytes = Buffer.from(header, 'base64')
  return bytes.length === 4 ? bytes.readUInt32BE() : undefined
}

/** What guards a put's bytes on their way: the one header or the other, never none. */
export function guardOf(
  bytes: Uint8Array,
  guard: { readonly by: 'crc32' | 'md5'; readonly crc32?: number | undefined },
): { readonly ChecksumCRC32: string } | { readonly ContentMD5: string } {
  if (guard.by === 'crc32') return { ChecksumCRC32: crcToHeader(guard.crc32 ?? crc32(bytes)) }
  return { ContentMD5: createHash('md5').update(bytes).digest('base64') }
}

/** So that who confirms the put by its ETag need not compute it again. */
export function md5In(guard: ReturnType<typeof guardOf>): { readonly sentMd5?: string } {
  if (!('ContentMD5' in guard)) return {}
  return { sentMd5: Buffer.from(guard.ContentMD5, 'base64').toString('hex') }
}

/** A put's guard and condition as the SDK names them → as headers. */
export function wireHeaders(
  guard: ReturnType<typeof guardOf>,
  condition: { readonly IfNoneMatch?: '*'; readonly IfMatch?: string } = {},
): WirePut['headers'] {
  const { IfNoneMatch, IfMatch } = condition
  return {
    ...('ChecksumCRC32' in guard
      ? { 'x-amz-checksum-crc32': guard.ChecksumCRC32 }
      : { 'content-md5': guard.ContentMD5 }),
    ...(IfNoneMatch !== undefined && { 'if-none-match': IfNoneMatch }),
    ...(IfMatch !== undefined && { 'if-match': IfMatch }),
  }
}

/** What an answer says of the object, as the SDK names it. */
export interface Tags {
  readonly ETag?: string | undefined
  readonly ChecksumCRC32?: string | undefined
}

export function tagsIn(headers: Incoming['headers']): Tags {
  return { ETag: headers.etag, ChecksumCRC32: headers['x-amz-checksum-crc32'] }
}

export function acknowledged(answer: Tags): Acknowledgement {
  const etag = answer.ETag?.replaceAll('"', '')
  const crc = crcFromHeader(answer.ChecksumCRC32)
  return { ...(etag !== undefined && { etag }), ...(crc !== undefined && { crc32: crc }) }
}
