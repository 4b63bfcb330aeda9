/**
 * An upload in parts to S3. Parts go with Content-MD5 whatever the store's checksums are: a part's
 * x-amz-checksum header must have been announced when the upload began, and every store knows MD5.
 *
 * Not by @aws-sdk/lib-storage: its Upload opens several requests of its own, while here each is one
 * under a permit, retried by the store's wrapper, and its parts are all of one size.
 */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { Failure } from '../failure.ts'
import { readBody } from './body.ts'
import { type S3Bucket, there } from './s3-bucket.ts'
import { acknowledged, guardOf } from './s3-headers.ts'
import type { Acknowledgement, Body, MultipartUpload, PartRef, PutOptions } from './store.ts'

export async function startS3Multipart(at: S3Bucket, key: string): Promise<MultipartUpload> {
  const { connection, bucket, root, url } = at
  const command = new CreateMultipartUploadCommand({ Bucket: bucket, Key: root + key })
  const attempt = { doing: 'start an upload', what: `${url}/${key}` }
  const answer = await connection.attempt(attempt, ({ signal }) =>
    connection.client.send(command, { abortSignal: signal }),
  )
  const { UploadId } = there(answer, attempt.what)
  if (UploadId) return new S3Multipart(at, { key, id: UploadId })
  throw new Failure('unavailable', `store names no upload. store=${attempt.what}`)
}

export async function openS3Multiparts(
  at: S3Bucket,
  prefix: string,
): Promise<readonly MultipartUpload[]> {
  const { connection, bucket, root, url } = at
  const open: MultipartUpload[] = []
  const attempt = { doing: 'list uploads', what: `${url}/${prefix}` }
  let markers: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}
  while (markers) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
      Bucket: bucket,
      Prefix: root + prefix,
      ...markers,
    })
    const answer = await connection.attempt(attempt, ({ signal }) =>
      connection.client.send(command, { abortSignal: signal }),
    )
    const page = there(answer, attempt.what)
    for (const { Key, UploadId } of page.Uploads ?? []) {
      if (Key === undefined || UploadId === undefined) continue
      open.push(new S3Multipart(at, { key: Key.slice(root.length), id: UploadId }))
    }
    markers = undefined
    if (page.IsTruncated && page.NextKeyMarker !== undefined) {
      const { NextKeyMarker, NextUploadIdMarker = '' } = page
      markers = { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker }
    }
  }
  return open
}

class S3Multipart implements MultipartUpload {
  readonly key: string
  readonly id: string
  readonly #at: S3Bucket
  readonly #what: string
  readonly #upload: { readonly Bucket: string; readonly Key: string; readonly UploadId: string }

  constructor(at: S3Bucket, upload: { readonly key: string; readonly id: string }) {
    this.#at = at
    this.key = upload.key
    this.id = upload.id
    this.#what = `${at.url}/${upload.key}`
    this.#upload = { Bucket: at.bucket, Key: at.root + upload.key, UploadId: upload.id }
  }

  async putPart(number: number, body: Body, options: PutOptions = {}): Promise<PartRef> {
    const { connection } = this.#at
    const bytes = await readBody(body, options.crc32)
    const size = bytes.byteLength
    const command = new UploadPartCommand({
      ...this.#upload,
      PartNumber: number,
      Body: bytes,
      ContentLength: size,
      ...guardOf(bytes, { by: 'md5' }),
    })
    const attempt = {
      doing: 'put a part',
      what: this.#what,
      bytes: size,
      signal: options.signal,
    }
    const answer = await connection.attempt(attempt, ({ signal }) =>
      connection.client.send(command, { abortSignal: signal }),
    )
    const { etag } = acknowledged(there(answer, this.#what))
    if (etag !== undefined) return { number, etag, size }
    throw new Failure('unavailable', `store gives a part no etag. store=${this.#what}`)
  }

  async complete(parts: readonly PartRef[]): Promise<Acknowledgement> {
    const { connection } = this.#at
    const command = new CompleteMultipartUploadCommand({
      ...this.#upload,
      MultipartUpload: {
        Parts: parts.map(({ number, etag }) => ({ PartNumber: number, ETag: `"${etag}"` })),
      },
    })
    // The store may copy all parts before it answers.
    const bytes = parts.reduce((sum, part) => sum + part.size, 0)
    const attempt = { doing: 'complete an upload', what: this.#what, bytes }
    const answer = await connection.attempt(attempt, ({ signal }) =>
      connection.client.send(command, { abortSignal: signal }),
    )
    return acknowledged(there(answer, this.#what))
  }

  async abort(): Promise<void> {
    const { connection } = this.#at
    const command = new AbortMultipartUploadCommand(this.#upload)
    await connection.attempt({ doing: 'abort an upload', what: this.#what }, async (deadline) => {
      try {
        await connection.client.send(command, { abortSignal: deadline.signal })
      } catch (error) {
        // Completed or aborted before, perhaps by a try whose answer was lost.
        if (!(error instanceof Error) || error.name !== 'NoSuchUpload') throw error
      }
    })
  }
}
