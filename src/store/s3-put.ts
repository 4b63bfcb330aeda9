/** One put of a whole object, by the lean way where the SDK's signature is not needed. */

import { crc32 } from 'node:zlib'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { checkCrc, readBody } from './body.ts'
import type { S3Bucket } from './s3-bucket.ts'
import type { Answer } from './s3-connection.ts'
import { acknowledged, guardOf, md5In, tagsIn, wireHeaders } from './s3-headers.ts'
import { isNamed, otherBytes } from './s3-upload.ts'
import type { Acknowledgement, Body, PutOptions } from './store.ts'

export type Condition = { readonly IfNoneMatch: '*' } | { readonly IfMatch: string }

interface Put {
  /** Checked; below the store's prefix. */
  readonly key: string
  readonly body: Body
  readonly options: PutOptions
  readonly condition?: Condition
}

/**
 * @throws Failure, as `ObjectStore.put`: `corrupt` where the store refuses the body, which has
 *         indeed not the CRC-32 that the caller gave; one that was damaged on its way may pass
 */
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
  return connection.attempt(attempt, async (deadline) => {
    try {
      const lean = { bucket, key: object.Key, headers, body: bytes }
      const answer = await connection.wire.put(lean, deadline)
      if (answer) return { ...acknowledged(tagsIn(answer)), ...md5In(guard) }
      const input = { ...object, ...condition, ...guard, Body: bytes, ContentLength }
      const command = new PutObjectCommand(input)
      const said = await connection.client.send(command, { abortSignal: deadline.signal })
      return { ...acknowledged(said), ...md5In(guard) }
    } catch (error) {
      const { crc32: given } = options
      if (given !== undefined && isNamed(error, otherBytes)) checkCrc(given, crc32(bytes), body)
      throw error
    }
  })
}
