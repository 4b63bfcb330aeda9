/**
 * `s3://`: a bucket, or a prefix in one, at any S3-compatible endpoint. One call is one request;
 * only uploads and their parts are listed to the last page at once.
 */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3'
import { checkKey, checkPrefix } from './keys.ts'
import { allPages } from './pages.ts'
import { nextOf, type S3Bucket, there } from './s3-bucket.ts'
import { type Credentials, S3Connection, type S3Options } from './s3-connection.ts'
import { bodyLength, keyBelow, listing, requireTag } from './s3-granted.ts'
import { acknowledged } from './s3-headers.ts'
import { openS3Multiparts, startS3Multipart } from './s3-multipart.ts'
import { type Condition, putS3 } from './s3-put.ts'
import type {
  Acknowledgement,
  Body,
  ListPage,
  MultipartUpload,
  ObjectInfo,
  ObjectStore,
  PutOptions,
} from './store.ts'

export interface S3Place {
  readonly bucket: string
  /** Without slashes at its ends; empty for the whole bucket. */
  readonly prefix: string
}

export class S3Store implements ObjectStore {
  readonly url: string
  readonly #at: S3Bucket
  readonly #checksums: boolean

  /** Absent `credentials` come from the AWS chain. */
  constructor(place: S3Place, options: S3Options, credentials?: Credentials) {
    this.url = `s3://${place.bucket}${place.prefix && `/${place.prefix}`}`
    this.#checksums = options.checksums !== 'when-required'
    const connection = new S3Connection(options, credentials)
    this.#at = {
      connection,
      bucket: place.bucket,
      root: place.prefix && `${place.prefix}/`,
      url: this.url,
      checksums: this.#checksums,
    }
  }

  async put(key: string, body: Body, options: PutOptions = {}): Promise<Acknowledgement> {
    return there(await this.#put(key, body, options), `${this.url}/${key}`)
  }

  async putIfAbsent(key: string, body: Body, options: PutOptions = {}): Promise<boolean> {
    const answer = await this.#put(key, body, options, { IfNoneMatch: '*' })
    return answer.kind !== 'unmet' && there(answer, this.url) !== undefined
  }

  async putIfMatch(
    key: string,
    body: Body,
    etag: string,
    options: PutOptions = {},
  ): Promise<boolean> {
    // On a key that is gone the answer is `absent`.
    return (await this.#put(key, body, options, { IfMatch: `"${etag}"` })).kind === 'done'
  }

  async get(
    key: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<Buffer | undefined> {
    const { connection } = this.#at
    if (range && range.end <= range.start) return (await this.head(key)) && Buffer.alloc(0)
    const wanted = range && { Range: `bytes=${range.start}-${range.end - 1}` }
    const command = new GetObjectCommand({ ...this.#object(key), ...wanted })
    const attempt = { doing: 'get', what: `${this.url}/${key}` }
    const answer = await connection.attempt(attempt, async (deadline) => {
      try {
        const { signal: abortSignal } = deadline
        const found = await connection.client.send(command, { abortSignal })
        deadline.allowFor(bodyLength(found, attempt.what, range && range.end - range.start))
        const bytes = await found.Body?.transformToByteArray()
        return Buffer.from(bytes?.buffer ?? new ArrayBuffer(), bytes?.byteOffset, bytes?.byteLength)
      } catch (error) {
        // The range starts beyond the object's end: nothing of it is there.
        if (error instanceof Error && error.name === 'InvalidRange') return Buffer.alloc(0)
        throw error
      }
    })
    return answer.kind === 'done' ? answer.value : undefined
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    const { connection } = this.#at
    const command = new HeadObjectCommand({
      ...this.#object(key),
      ...(this.#checksums && { ChecksumMode: 'ENABLED' }),
    })
    const answer = await connection.attempt(
      { doing: 'head', what: `${this.url}/${key}` },
      ({ signal }) => connection.client.send(command, { abortSignal: signal }),
    )
    if (answer.kind !== 'done') return undefined
    requireTag(answer.value, `${this.url}/${key}`)
    const { ContentLength = 0, LastModified } = answer.value
    const lastModified = LastModified?.getTime() ?? 0
    return { key, size: ContentLength, lastModified, ...acknowledged(answer.value) }
  }

  list(prefix: string): AsyncIterable<ObjectInfo> {
    return allPages(this, prefix)
  }

  async listPage(ask: { readonly prefix: string; readonly from?: string }): Promise<ListPage> {
    checkPrefix(ask.prefix)
    const { connection, bucket, root } = this.#at
    const command = new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: root + ask.prefix,
      ...(ask.from !== undefined && { ContinuationToken: ask.from }),
    })
    const attempt = { doing: 'list', what: `${this.url}/${ask.prefix}` }
    const answer = await connection.attempt(attempt, ({ signal }) =>
      connection.client.send(command, { abortSignal: signal }),
    )
    const page = listing(there(answer, attempt.what), attempt.what)
    const objects = (page.Contents ?? []).flatMap((found) => {
      const key = keyBelow(found.Key, { root, prefix: ask.prefix })
      // Consoles make empty objects that end with a slash, to show them as folders.
      if (!key || key.endsWith('/')) return []
      const lastModified = found.LastModified?.getTime() ?? 0
      return [{ key, size: found.Size ?? 0, lastModified, ...acknowledged({ ETag: found.ETag }) }]
    })
    const next = nextOf(page, page.NextContinuationToken, { at: ask.from, what: attempt.what })
    return next === undefined ? { objects } : { objects, next }
  }

  async remove(key: string): Promise<void> {
    const { connection } = this.#at
    const command = new DeleteObjectCommand(this.#object(key))
    await connection.attempt({ doing: 'remove', what: `${this.url}/${key}` }, ({ signal }) =>
      connection.client.send(command, { abortSignal: signal }),
    )
  }

  async startMultipart(key: string): Promise<MultipartUpload> {
    checkKey(key)
    return startS3Multipart(this.#at, key)
  }

  async openMultiparts(prefix: string): Promise<readonly MultipartUpload[]> {
    checkPrefix(prefix)
    return openS3Multiparts(this.#at, prefix)
  }

  close(): void {
    this.#at.connection.close()
  }

  #put(key: string, body: Body, options: PutOptions, condition?: Condition) {
    checkKey(key)
    return putS3(this.#at, { key, body, options, ...(condition && { condition }) })
  }

  #object(key: string) {
    checkKey(key)
    return { Bucket: this.#at.bucket, Key: this.#at.root + key }
  }
}
