/** What the parts of an upload come to: one object, where they and the request agree. */
import { crc32 } from 'node:zlib'
import { crcToHeader } from '../store/s3-headers.ts'
import { type DevRequest, Refusal } from './answer.ts'
import { md5 } from './shelf.ts'

const PART_BYTES_MIN = 5 << 20

export interface Part {
  readonly number: number
  readonly bytes: Buffer
  readonly etag: string
  /** In base64. */
  readonly crc32: string
}

interface Rules {
  readonly parts: ReadonlyMap<number, Part>
  readonly checksum: 'FULL_OBJECT' | 'COMPOSITE' | undefined
  /** As R2 wants them: all but the last of one size, the last no larger. */
  readonly equalParts: boolean
}

export interface Whole {
  readonly bytes: Buffer
  readonly etag: string
  /** As S3 writes it: in base64; with `-` and the count of parts for one of their checksums. */
  readonly crc32: string | undefined
}

/** Throws a Refusal where a part is missing, too small, or other than the request says. */
export function joined(request: DevRequest, rules: Rules): Whole {
  const parts = namedParts(request.body.toString(), rules)
  checkSizes(parts, rules)
  const bytes = Buffer.concat(parts.map((part) => part.bytes))
  checkWhole(request.headers, bytes, rules)
  const sums = Buffer.concat(parts.map(({ etag }) => Buffer.from(etag, 'hex')))
  const crcs = Buffer.concat(parts.map((part) => Buffer.from(part.crc32, 'base64')))
  const checksums = {
    FULL_OBJECT: crcToHeader(crc32(bytes)),
    COMPOSITE: `${crcToHeader(crc32(crcs))}-${parts.length}`,
  }
  const etag = `${md5(sums)}-${parts.length}`
  return { bytes, etag, crc32: rules.checksum && checksums[rules.checksum] }
}

function namedParts(list: string, { parts, checksum }: Rules): readonly Part[] {
  let before = 0
  const named = [...list.matchAll(/<Part>.*?<\/Part>/gs)].map(([xml]) => {
    const number = Number(/<PartNumber>(\d+)</.exec(xml)?.[1])
    const etag = /<ETag>(?:"|&quot;|&#34;)?([0-9a-f]+)/.exec(xml)?.[1]
    const crc = /<ChecksumCRC32>([^<]*)</.exec(xml)?.[1]
    const part = parts.get(number)
    if (part?.etag !== etag || !part) throw new Refusal(400, 'InvalidPart')
    if (crc === undefined ? checksum === 'COMPOSITE' : crc !== part.crc32) {
      throw new Refusal(400, 'InvalidPart', { says: 'a part has another checksum' })
    }
    if (number <= before) throw new Refusal(400, 'InvalidPartOrder')
    before = number
    return part
  })
  if (named.length === 0) throw new Refusal(400, 'MalformedXML')
  return named
}

function checkSizes(parts: readonly Part[], { equalParts }: Rules): void {
  const sizes = parts.map(({ bytes }) => bytes.length)
  const [first = 0] = sizes
  const others = sizes.slice(0, -1)
  if (others.some((size) => size < PART_BYTES_MIN)) throw new Refusal(400, 'EntityTooSmall')
  if (!equalParts || sizes.length < 2) return
  if (others.some((size) => size !== first) || (sizes.at(-1) ?? 0) > first) {
    throw new Refusal(400, 'InvalidPart', { says: 'all parts but the last must have one size' })
  }
}

function checkWhole(headers: DevRequest['headers'], bytes: Buffer, { checksum }: Rules): void {
  const size = headers['x-amz-mp-object-size']
  if (size !== undefined && Number(size) !== bytes.length) throw new Refusal(400, 'InvalidRequest')
  const want = headers['x-amz-checksum-crc32']
  if (want === undefined) return
  if (checksum !== 'FULL_OBJECT' || headers['x-amz-checksum-type'] !== 'FULL_OBJECT') {
    throw new Refusal(400, 'InvalidRequest', { says: 'a checksum of another type was announced' })
  }
  if (want !== crcToHeader(crc32(bytes))) throw new Refusal(400, 'BadDigest')
}
