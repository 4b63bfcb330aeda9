/** One put of a whole object, by the lean way where the SDK's signature is not needed. */
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { readBody } from './body.ts'
import type { S3Bucket } from './s3-bucket.ts'
import type { Answer } from './s3-connection.ts'
import { acknowledged, guardOf, md5In, tagsIn, wireHeaders } from './s3-headers.ts'
import type { Acknowledgement, Body, PutOptions } from './store.ts'

export type Condition = { readonly IfNoneMatch: '*' } | { readonly IfMatch: string }

interface Put {
  /** Checked; below the store's prefix. */
  readonly key: string
  readonly body: Body
  readonly options: PutOptions
  readonly condition?: Condition
}

/** @throws Failure, as `ObjectStore.put` */
export async function putS3(
  { connection, bucket, root, url, checksums }: S3Bucket,
  { key, body, options, condition }: Put,
): Promise<Answer<Acknowledgement>> {
  const bytes = await readBody(body, options.crc32)
  const guard = guardOf(bytes, { by: checksums ? 'crc32' : 'md5', crc32: options.crc32 })
  const object = { Bucket: bucket, Key: root + key }
  const headers = wireHeaders(guard, condition)
  const { byteLength: ContentLength } = bytes
  const attempt = {
    doing: 'put',
    what: `${url}/${key}`,
    bytes: ContentLength,
    signal: options.signal,
  }
  return connection.attempt(attempt, async ({ signal }) => {
    const lean = { bucket, key: object.Key, headers, body: bytes }
    const answer = await connection.wire.put(lean, signal)
    if (answer) return { ...acknowledged(tagsIn(answer)), ...md5In(guard) }
    const input = { ...object, ...condition, ...guard, Body: bytes, ContentLength }
    const command = new PutObjectCommand(input)
    const said = await connection.client.send(command, { abortSignal: signal })
    return { ...acknowledged(said), ...md5In(guard) }
  })
}
