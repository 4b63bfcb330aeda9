import { readFile } from 'node:fs/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { crc32 } from 'node:zlib'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { crcToHeader } from '../../src/store/s3-headers.ts'
import { inLanes, jobOf, measured, namesOf, pathOf, region } from './upload-job.ts'

/**
 * The side of the plain SDK, set as fast as its settings go: `PutObjectCommand` with the bytes of a
 * file and their CRC-32, the body not hashed for the signature, a connection for each lane.
 */

const job = jobOf(process.argv[2])
const settings = { keepAlive: true, maxSockets: job.parallel }
const client = new S3Client({
  endpoint: job.endpoint,
  region,
  forcePathStyle: true,
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
  requestHandler: { httpAgent: new HttpAgent(settings), httpsAgent: new HttpsAgent(settings) },
})
client.middlewareStack.add(
  (next) => (args) => {
    const { request } = args
    if (typeof request === 'object' && request !== null && 'headers' in request) {
      Object.assign(request.headers ?? {}, { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' })
    }
    return next(args)
  },
  { step: 'build', priority: 'low', name: 'unsignedPayload' },
)

const names = await namesOf(job)
await measured(() =>
  inLanes(names, job.parallel, async (name) => {
    const bytes = await readFile(pathOf(job, name))
    const command = new PutObjectCommand({
      Bucket: job.bucket,
      Key: job.prefix + name,
      Body: bytes,
      ContentLength: bytes.length,
      ChecksumCRC32: crcToHeader(crc32(bytes)),
    })
    await client.send(command)
  }),
)
client.destroy()
