/** Uploads in parts. They are kept in memory: only what they complete outlives the server. */
import { randomUUID } from 'node:crypto'
import { type Answer, type DevRequest, escapeXml, Refusal, xml } from './answer.ts'
import { md5, type Shelf } from './shelf.ts'

const PART_BYTES_MIN = 5 << 20

interface Upload {
  readonly bucket: string
  readonly key: string
  readonly parts: Map<number, Buffer>
}

export class Multiparts {
  readonly #shelf: Shelf
  readonly #uploads = new Map<string, Upload>()

  constructor(shelf: Shelf) {
    this.#shelf = shelf
  }

  create({ bucket, key }: DevRequest): Answer {
    const id = randomUUID()
    this.#uploads.set(id, { bucket, key, parts: new Map() })
    const inner = `<Bucket>${bucket}</Bucket><Key>${escapeXml(key)}</Key>`
    return xml('InitiateMultipartUploadResult', `${inner}<UploadId>${id}</UploadId>`)
  }

  putPart(request: DevRequest): Answer {
    const { upload } = this.#find(request)
    upload.parts.set(Number(request.query.get('partNumber')), request.body)
    return { status: 200, headers: { etag: `"${md5(request.body)}"` } }
  }

  complete(request: DevRequest): Answer {
    const { upload, id } = this.#find(request)
    const parts = namedParts(request.body.toString(), upload.parts)
    checkSizes(parts)
    const sums = parts.map((part) => Buffer.from(md5(part), 'hex'))
    const etag = `${md5(Buffer.concat(sums))}-${parts.length}`
    this.#shelf.put({ bucket: upload.bucket, key: upload.key }, Buffer.concat(parts), { etag })
    this.#uploads.delete(id)
    return xml('CompleteMultipartUploadResult', `<ETag>&quot;${etag}&quot;</ETag>`)
  }

  abort(request: DevRequest): Answer {
    this.#uploads.delete(this.#find(request).id)
    return { status: 204 }
  }

  list({ bucket, query }: DevRequest): Answer {
    const prefix = query.get('prefix') ?? ''
    const inner = [...this.#uploads]
      .filter(([, upload]) => upload.bucket === bucket && upload.key.startsWith(prefix))
      .map(([id, { key }]) => {
        return `<Upload><Key>${escapeXml(key)}</Key><UploadId>${id}</UploadId></Upload>`
      })
    const head = `<Bucket>${bucket}</Bucket><IsTruncated>false</IsTruncated>`
    return xml('ListMultipartUploadsResult', head + inner.join(''))
  }

  #find({ bucket, key, query }: DevRequest): { readonly id: string; readonly upload: Upload } {
    const id = query.get('uploadId') ?? ''
    const upload = this.#uploads.get(id)
    if (upload?.bucket === bucket && upload.key === key) return { id, upload }
    throw new Refusal(404, 'NoSuchUpload')
  }
}

function namedParts(list: string, parts: ReadonlyMap<number, Buffer>): readonly Buffer[] {
  let before = 0
  const named = [...list.matchAll(/<Part>.*?<\/Part>/gs)].map(([part]) => {
    const number = Number(/<PartNumber>(\d+)</.exec(part)?.[1])
    const etag = /<ETag>(?:"|&quot;|&#34;)?([0-9a-f]+)/.exec(part)?.[1]
    const bytes = parts.get(number)
    if (!bytes || md5(bytes) !== etag) throw new Refusal(400, 'InvalidPart')
    if (number <= before) throw new Refusal(400, 'InvalidPartOrder')
    before = number
    return bytes
  })
  if (named.length === 0) throw new Refusal(400, 'MalformedXML')
  return named
}

/** Stricter than Amazon, as R2 is: all parts but the last have one size. */
function checkSizes(parts: readonly Buffer[]): void {
  const [first, ...others] = parts.slice(0, -1)
  if (first && first.length < PART_BYTES_MIN) throw new Refusal(400, 'EntityTooSmall')
  const last = parts.at(-1)
  const unequal = others.some((part) => part.length !== first?.length)
  if (unequal || (first && last && last.length > first.length))
    throw new Refusal(400, 'InvalidPart')
}
