/**
 * A request's body: read, freed of its aws-chunked framing, and checked against what it came with.
 */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { crc32 } from 'node:zlib'
import { crcToHeader } from '../store/s3-headers.ts'
import { Refusal } from './answer.ts'

export interface Received {
  readonly body: Buffer
  readonly crc32?: string
}

/** Up to `bytesMax` of it, or all; what the peer cuts short ends in an error. */
export async function readRaw(request: IncomingMessage, bytesMax = Infinity): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= bytesMax) break
  }
  return Buffer.concat(chunks)
}

/**
 * Throws a Refusal where the bytes are not those that a header or trailer names. The checksum of a
 * CompleteMultipartUpload is not its body's: it is the object's.
 */
export function receive(
  raw: Buffer,
  { operation, headers }: { readonly operation: string; readonly headers: IncomingHttpHeaders },
): Received {
  const claim = String(headers['x-amz-content-sha256'] ?? '')
  if (claim.startsWith('STREAMING-AWS4')) {
    throw new Refusal(501, 'NotImplemented', { says: 'signed chunks are not verified here' })
  }
  const { body, trailers } = claim.startsWith('STREAMING-')
    ? unchunk(raw)
    : { body: raw, trailers: new Map<string, string>() }
  if (/^[0-9a-f]{64}$/.test(claim) && claim !== digest('sha256', body).toString('hex')) {
    throw new Refusal(400, 'XAmzContentSHA256Mismatch')
  }
  const md5 = headers['content-md5']
  if (md5 !== undefined && md5 !== digest('md5', body).toString('base64')) {
    throw new Refusal(400, 'BadDigest')
  }
  if (operation === 'CompleteMultipartUpload') return { body }
  const sums = checksumsOf(headers, trailers)
  for (const [name, value] of sums) {
    if (value !== checksum(name, body)) throw new Refusal(400, 'BadDigest')
  }
  const crc = sums.get('x-amz-checksum-crc32')
  return crc === undefined ? { body } : { body, crc32: crc }
}

/** Whether the request knows checksums newer than Content-MD5, which some stores refuse. */
export const carriesChecksum = (headers: IncomingHttpHeaders): boolean =>
  Object.keys(headers).some((name) => checksumName.test(name)) || 'x-amz-trailer' in headers

const checksumName = /^x-amz-checksum-(?!mode$|algorithm$|type$)/

function checksumsOf(
  headers: IncomingHttpHeaders,
  trailers: ReadonlyMap<string, string>,
): Map<string, string> {
  const found = new Map(trailers)
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') found.set(name, value)
  }
  for (const name of [...found.keys()]) if (!checksumName.test(name)) found.delete(name)
  return found
}

function checksum(name: string, body: Buffer): string {
  if (name === 'x-amz-checksum-crc32') return crcToHeader(crc32(body))
  if (name === 'x-amz-checksum-sha256') return digest('sha256', body).toString('base64')
  if (name === 'x-amz-checksum-sha1') return digest('sha1', body).toString('base64')
  throw new Refusal(501, 'NotImplemented', { says: `${name} is not verified here` })
}

const digest = (algorithm: string, bytes: Buffer): Buffer =>
  createHash(algorithm).update(bytes).digest()

/**
 * `<size in hex>\r\n<bytes>\r\n`, the last of size 0, then trailers:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
 */
function unchunk(raw: Buffer): { body: Buffer; trailers: Map<string, string> } {
  const chunks: Buffer[] = []
  let at = 0
  for (;;) {
    const end = raw.indexOf('\r\n', at)
    const size = Number.parseInt(raw.toString('latin1', at, end), 16)
    if (end < 0 || Number.isNaN(size) || end + 2 + size > raw.length) {
      throw new Refusal(400, 'IncompleteBody')
    }
    at = end + 2
    if (size === 0) break
    chunks.push(raw.subarray(at, at + size))
    at += size + 2
  }
  const lines = raw.toString('latin1', at).split('\r\n')
  const trailers = lines.flatMap((line): [string, string][] => {
    const colon = line.indexOf(':')
    return colon < 0 ? [] : [[line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]]
  })
  return { body: Buffer.concat(chunks), trailers: new Map(trailers) }
}
