/**
 * An upload in parts to S3. How its parts are guarded is agreed when it begins: by CRC-32, and the
 * whole object too, where the store says that it keeps those; else each part by Content-MD5, which
 * every store knows.
 *
 * Not by @aws-sdk/lib-storage: its Upload opens several requests of its own, while here each is one
 * under a permit, retried by the store's wrapper, and its parts are all of one size.
 */
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { Failure } from '../failure.ts'
import { nextOf, type S3Bucket, there } from './s3-bucket.ts'
import { keyBelow, listing } from './s3-granted.ts'
import { guardBy, isNamed, S3Multipart, wholeCrc } from './s3-upload.ts'
import type { MultipartUpload } from './store.ts'

/** How stores word that they do not know the headers of checksums. */
const unknownHeader = ['NotImplemented', 'InvalidArgument', 'InvalidRequest']

export async function startS3Multipart(at: S3Bucket, key: string): Promise<MultipartUpload> {
  const asked = at.checksums ? await start(at, key, wholeCrc) : undefined
  const upload = asked ?? (await start(at, key, {}))
  if (upload) return upload
  throw new Failure('unavailable', `store names no upload. store=${at.url}/${key}`)
}

/** Undefined where the store does not know the checksums that it is asked for. */
async function start(
  at: S3Bucket,
  key: string,
  checksums: typeof wholeCrc | object,
): Promise<MultipartUpload | undefined> {
  const { connection, bucket, root, url } = at
  const command = new CreateMultipartUploadCommand({
    Bucket: bucket,
    Key: root + key,
    ...checksums,
  })
  const attempt = { doing: 'start an upload', what: `${url}/${key}` }
  const answer = await connection.attempt(attempt, async ({ signal }) => {
    try {
      return await connection.client.send(command, { abortSignal: signal })
    } catch (error) {
      if (checksums === wholeCrc && isNamed(error, unknownHeader)) return { UploadId: undefined }
      throw error
    }
  })
  const { UploadId, ...said } = there(answer, attempt.what)
  if (!UploadId) return undefined
  return new S3Multipart(at, { key, id: UploadId, startedAt: Date.now() }, guardBy(said))
}

export async function openS3Multiparts(
  at: S3Bucket,
  prefix: string,
): Promise<readonly MultipartUpload[]> {
  const { connection, bucket, root, url } = at
  const open: MultipartUpload[] = []
  const attempt = { doing: 'list uploads', what: `${url}/${prefix}` }
  let after: { readonly KeyMarker: string; readonly UploadIdMarker: string } | undefined
  do {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
      Bucket: bucket,
      Prefix: root + prefix,
      ...after,
    })
    const answer = await connection.attempt(attempt, ({ signal }) =>
      connection.client.send(command, { abortSignal: signal }),
    )
    const page = listing(there(answer, attempt.what), attempt.what)
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      const key = keyBelow(Key, { root, prefix })
      if (key === undefined || UploadId === undefined) continue
      const startedAt = Initiated?.getTime()
      open.push(new S3Multipart(at, { key, id: UploadId, startedAt }))
    }
    const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker = '' } = page
    after = nextOf(page, KeyMarker && { KeyMarker, UploadIdMarker }, {
      at: after,
      what: attempt.what,
    })
  } while (after !== undefined)
  return open
}
