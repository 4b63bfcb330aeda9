/** Uploads in parts. They are kept in memory: only what they complete outlives the server. */
import { randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { compareKeys } from '../store/keys.ts'
import { crcToHeader } from '../store/s3-headers.ts'
import { type Answer, type DevRequest, escapeXml, Refusal, xml } from './answer.ts'
import { joined, type Part } from './parts.ts'
import { md5, type Shelf } from './shelf.ts'

const PAGE_MAX = 1000
const PART_NUMBER_MAX = 10_000

interface Upload {
  readonly id: string
  readonly bucket: string
  readonly key: string
  readonly startedAt: string
  /** What CRC-32 its object will have, where one was announced. */
  readonly checksum: 'FULL_OBJECT' | 'COMPOSITE' | undefined
  readonly parts: Map<number, Part>
}

export class Multiparts {
  readonly #shelf: Shelf
  readonly #uploads = new Map<string, Upload>()

  constructor(shelf: Shelf) {
    this.#shelf = shelf
  }

  create({ bucket, key, headers }: DevRequest): Answer {
    const id = randomUUID()
    const checksum = announced(headers)
    const startedAt = new Date().toISOString()
    this.#uploads.set(id, { id, bucket, key, startedAt, checksum, parts: new Map() })
    const inner = `<Bucket>${bucket}</Bucket><Key>${escapeXml(key)}</Key>`
    const answer = xml('InitiateMultipartUploadResult', `${inner}<UploadId>${id}</UploadId>`)
    if (!checksum) return answer
    const echo = { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': checksum }
    return { ...answer, headers: { ...answer.headers, ...echo } }
  }

  /** @param rules  `truncated`: half of the part is there, and the answer has no checksum */
  putPart(request: DevRequest, { truncated }: { readonly truncated: boolean }): Answer {
    const upload = this.#find(request)
    const number = Number(request.query.get('partNumber'))
    if (!Number.isInteger(number) || number < 1 || number > PART_NUMBER_MAX) {
      throw new Refusal(400, 'InvalidArgument')
    }
    if (!truncated && (request.crc32 !== undefined) !== (upload.checksum !== undefined)) {
      throw new Refusal(400, 'InvalidRequest', { says: 'a checksum that was not announced' })
    }
    const bytes = request.body
    const part = { number, bytes, etag: md5(bytes), crc32: crcToHeader(crc32(bytes)) }
    upload.parts.set(number, part)
    const crc = upload.checksum && !truncated && { 'x-amz-checksum-crc32': part.crc32 }
    return { status: 200, headers: { etag: `"${part.etag}"`, ...crc } }
  }

  listParts(request: DevRequest): Answer {
    const { bucket, key, query } = request
    const upload = this.#find(request)
    const after = Number(query.get('part-number-marker') ?? 0)
    const sorted = [...upload.parts.values()].sort((a, b) => a.number - b.number)
    const left = sorted.filter(({ number }) => number > after)
    const page = left.slice(0, pageSize(query.get('max-parts')))
    const checksum = upload.checksum
      ? `<ChecksumAlgorithm>CRC32</ChecksumAlgorithm>${typeXml(upload.checksum)}`
      : ''
    const parts = page.map((part) => {
      const crc = upload.checksum ? `<ChecksumCRC32>${part.crc32}</ChecksumCRC32>` : ''
      const tags = `<ETag>&quot;${part.etag}&quot;</ETag><Size>${part.bytes.length}</Size>${crc}`
      return `<Part><PartNumber>${part.number}</PartNumber>${tags}</Part>`
    })
    const next = `<NextPartNumberMarker>${page.at(-1)?.number ?? after}</NextPartNumberMarker>`
    const head = `<Bucket>${bucket}</Bucket><Key>${escapeXml(key)}</Key>${checksum}`
    const truncated = `<IsTruncated>${left.length > page.length}</IsTruncated>`
    return xml('ListPartsResult', `${head}${next}${truncated}${parts.join('')}`)
  }

  complete(request: DevRequest, rules: { readonly equalParts: boolean }): Answer {
    const upload = this.#find(request)
    const whole = joined(request, { ...rules, checksum: upload.checksum, parts: upload.parts })
    const { bucket, key } = upload
    this.#shelf.put({ bucket, key }, whole.bytes, { etag: whole.etag, crc32: whole.crc32 })
    this.#uploads.delete(upload.id)
    const crc = whole.crc32 === undefined ? '' : `<ChecksumCRC32>${whole.crc32}</ChecksumCRC32>`
    const type = upload.checksum ? typeXml(upload.checksum) : ''
    const etag = `<ETag>&quot;${whole.etag}&quot;</ETag>`
    return xml('CompleteMultipartUploadResult', etag + crc + type)
  }

  abort(request: DevRequest): Answer {
    this.#uploads.delete(this.#find(request).id)
    return { status: 204 }
  }

  /** In order of keys; of one key, in the order they began. */
  list({ bucket, query }: DevRequest): Answer {
    const prefix = query.get('prefix') ?? ''
    const sorted = [...this.#uploads.values()]
      .filter((upload) => upload.bucket === bucket && upload.key.startsWith(prefix))
      .sort((a, b) => compareKeys(a.key, b.key))
    const left = sorted.slice(firstAfter(sorted, query))
    const page = left.slice(0, pageSize(query.get('max-uploads')))
    const last = page.at(-1)
    const next = `<NextKeyMarker>${escapeXml(last?.key ?? '')}</NextKeyMarker>`
    const nextId = `<NextUploadIdMarker>${last?.id ?? ''}</NextUploadIdMarker>`
    const truncated = `<IsTruncated>${left.length > page.length}</IsTruncated>`
    const uploads = page.map(({ id, key, startedAt }) => {
      const name = `<Key>${escapeXml(key)}</Key><UploadId>${id}</UploadId>`
      return `<Upload>${name}<Initiated>${startedAt}</Initiated></Upload>`
    })
    const head = `<Bucket>${bucket}</Bucket>${next}${nextId}${truncated}`
    return xml('ListMultipartUploadsResult', head + uploads.join(''))
  }

  #find({ bucket, key, query }: DevRequest): Upload {
    const upload = this.#uploads.get(query.get('uploadId') ?? '')
    if (upload?.bucket === bucket && upload.key === key) return upload
    throw new Refusal(404, 'NoSuchUpload')
  }
}

function announced(headers: DevRequest['headers']): Upload['checksum'] {
  const algorithm = headers['x-amz-checksum-algorithm']
  if (algorithm === undefined) return undefined
  if (algorithm !== 'CRC32') throw new Refusal(501, 'NotImplemented')
  return headers['x-amz-checksum-type'] === 'FULL_OBJECT' ? 'FULL_OBJECT' : 'COMPOSITE'
}

function firstAfter(sorted: readonly Upload[], query: URLSearchParams): number {
  const key = query.get('key-marker')
  if (!key) return 0
  const id = query.get('upload-id-marker')
  const marked = id ? sorted.findIndex((upload) => upload.id === id) : -1
  if (marked >= 0) return marked + 1
  const later = sorted.findIndex((upload) => compareKeys(upload.key, key) > 0)
  return later < 0 ? sorted.length : later
}

const pageSize = (asked: string | null): number =>
  Math.min(PAGE_MAX, asked === null ? PAGE_MAX : Number(asked))

const typeXml = (type: string): string => `<ChecksumType>${type}</ChecksumType>`
