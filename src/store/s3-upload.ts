/** One upload in parts to S3, begun here or found: its parts, its end, and how both are guarded. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  ListPartsCommand,
  type ListPartsCommandOutput,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { Failure } from '../failure.ts'
import { readBody } from './body.ts'
import type { Deadline } from './deadline.ts'
import { nextOf, type S3Bucket, there } from './s3-bucket.ts'
import { listing } from './s3-granted.ts'
import { acknowledged, crcToHeader, guardOf } from './s3-headers.ts'
import type { Acknowledgement, Body, MultipartUpload, PartRef, PutOptions } from './store.ts'

/** What guards an upload's parts, and whether its object will have a CRC-32 of its own. */
export interface Guard {
  readonly parts: 'crc32' | 'md5'
  readonly whole: boolean
}

const byMd5: Guard = { parts: 'md5', whole: false }
export const wholeCrc = { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const
/** What stores call a body that has not the checksum that was sent with it. */
export const otherBytes = ['BadDigest', 'XAmzContentChecksumMismatch']

/** A store that is silent about what it was asked to keep does not keep it. */
export function guardBy(said: {
  readonly ChecksumAlgorithm?: string | undefined
  readonly ChecksumType?: string | undefined
}): Guard {
  if (said.ChecksumAlgorithm !== wholeCrc.ChecksumAlgorithm) return byMd5
  return { parts: 'crc32', whole: said.ChecksumType === wholeCrc.ChecksumType }
}

export class S3Multipart implements MultipartUpload {
  readonly key: string
  readonly id: string
  readonly startedAt?: number
  readonly #at: S3Bucket
  readonly #what: string
  readonly #upload: { readonly Bucket: string; readonly Key: string; readonly UploadId: string }
  /** Of an upload that was found: told with its parts. */
  #guard: Guard | undefined

  constructor(
    at: S3Bucket,
    upload: {
      readonly key: string
      readonly id: string
      readonly startedAt?: number | undefined
    },
    guard?: Guard,
  ) {
    this.#at = at
    this.key = upload.key
    this.id = upload.id
    if (upload.startedAt !== undefined) this.startedAt = upload.startedAt
    this.#guard = guard
    this.#what = `${at.url}/${upload.key}`
    this.#upload = { Bucket: at.bucket, Key: at.root + upload.key, UploadId: upload.id }
  }

  async putPart(number: number, body: Body, options: PutOptions = {}): Promise<PartRef> {
    const { client } = this.#at.connection
    const guard = await this.#guardNow()
    const bytes = await readBody(body, options.crc32)
    const size = bytes.byteLength
    const command = new UploadPartCommand({
      ...this.#upload,
      PartNumber: number,
      Body: bytes,
      ContentLength: size,
      ...guardOf(bytes, { by: guard.parts, crc32: options.crc32 }),
    })
    const { signal: given } = options
    const answer = await this.#ask('put a part', { bytes: size, signal: given }, ({ signal }) =>
      client.send(command, { abortSignal: signal }),
    )
    const { etag, crc32 } = acknowledged(answer)
    if (etag !== undefined) return { number, etag, size, ...(crc32 !== undefined && { crc32 }) }
    throw new Failure('unavailable', `store gives a part no etag. store=${this.#what}`)
  }

  async listParts(): Promise<readonly PartRef[]> {
    const { client } = this.#at.connection
    const parts: PartRef[] = []
    let at: string | undefined
    do {
      const marker = at === undefined ? {} : { PartNumberMarker: at }
      const command: ListPartsCommand = new ListPartsCommand({ ...this.#upload, ...marker })
      const answer: ListPartsCommandOutput = await this.#ask('list parts', {}, ({ signal }) =>
        client.send(command, { abortSignal: signal }),
      )
      const page = listing(answer, this.#what)
      this.#guard ??= guardBy(page)
      for (const { PartNumber: number, Size: size, ...part } of page.Parts ?? []) {
        const { etag, crc32 } = acknowledged(part)
        if (number === undefined || size === undefined || etag === undefined) continue
        parts.push({ number, etag, size, ...(crc32 !== undefined && { crc32 }) })
      }
      at = nextOf(page, page.NextPartNumberMarker, { at, what: this.#what })
    } while (at !== undefined)
    return parts
  }

  async complete(
    parts: readonly PartRef[],
    whole: { readonly crc32?: number } = {},
  ): Promise<Acknowledgement> {
    const { client } = this.#at.connection
    const guard = await this.#guardNow()
    // The store may copy all parts before it answers.
    const bytes = parts.reduce((sum, part) => sum + part.size, 0)
    const command = new CompleteMultipartUploadCommand({
      ...this.#upload,
      MultipartUpload: { Parts: parts.map(partIn) },
      ...(guard.whole &&
        whole.crc32 !== undefined && {
          ChecksumType: wholeCrc.ChecksumType,
          ChecksumCRC32: crcToHeader(whole.crc32),
          MpuObjectSize: bytes,
        }),
    })
    const answer = await this.#ask('complete an upload', { bytes }, async ({ signal }) => {
      try {
        return await client.send(command, { abortSignal: signal })
      } catch (error) {
        throw isNamed(error, otherBytes) ? this.#othersThan(whole.crc32) : error
      }
    })
    return acknowledged(answer)
  }

  async abort(): Promise<void> {
    const { client } = this.#at.connection
    const command = new AbortMultipartUploadCommand(this.#upload)
    await this.#ask('abort an upload', {}, async ({ signal }) => {
      try {
        await client.send(command, { abortSignal: signal })
      } catch (error) {
        // Completed or aborted before, perhaps by a try whose answer was lost.
        if (!isNamed(error, ['NoSuchUpload'])) throw error
      }
    })
  }

  async #guardNow(): Promise<Guard> {
    if (!this.#guard) await this.listParts()
    return this.#guard ?? byMd5
  }

  async #ask<T>(
    doing: string,
    with_: { readonly bytes?: number; readonly signal?: AbortSignal | undefined },
    work: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const attempt = { doing, what: this.#what, ...with_ }
    return there(await this.#at.connection.attempt(attempt, work), this.#what)
  }

  #othersThan(want: number | undefined): Failure {
    const message = `store joined other bytes than those that were sent. store=${this.#what}`
    return new Failure('corrupt', `${message}, want=${want}`, { remedy: 'Start the upload anew.' })
  }
}

const partIn = ({ number, etag, crc32 }: PartRef) => ({
  PartNumber: number,
  ETag: `"${etag}"`,
  ...(crc32 !== undefined && { ChecksumCRC32: crcToHeader(crc32) }),
})

export const isNamed = (error: unknown, names: readonly string[]): boolean =>
  error instanceof Error && names.includes(error.name)
