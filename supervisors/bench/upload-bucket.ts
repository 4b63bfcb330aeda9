import { setTimeout as wait } from 'node:timers/promises'
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { jobOf, region } from './upload-job.ts'

/**
 * Before and after a side of `bench upload`, in a process that trusts the server: `make` waits
 * until the server is up and makes the bucket; `count` counts what the side has stored, and its
 * bytes.
 */

const waitMs = 100
const triesMax = 300

const job = jobOf(process.argv[3])
const client = new S3Client({ endpoint: job.endpoint, region, forcePathStyle: true })

async function make(): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await client.send(new CreateBucketCommand({ Bucket: job.bucket }))
      return
    } catch (error) {
      if (tries === triesMax) throw error
      await wait(waitMs)
    }
  }
}

async function count(): Promise<{ readonly objects: number; readonly bytes: number }> {
  let objects = 0
  let bytes = 0
  let from: string | undefined
  do {
    const page: { Contents?: { Size?: number }[]; NextContinuationToken?: string } =
      await client.send(
        new ListObjectsV2Command({
          Bucket: job.bucket,
          Prefix: job.prefix,
          ...(from !== undefined && { ContinuationToken: from }),
        }),
      )
    const sizes = (page.Contents ?? []).map(({ Size = 0 }) => Size)
    objects += sizes.length
    bytes += sizes.reduce((sum, size) => sum + size, 0)
    from = page.NextContinuationToken
  } while (from !== undefined)
  return { objects, bytes }
}

if (process.argv[2] === 'make') await make()
process.stdout.write(JSON.stringify(process.argv[2] === 'count' ? await count() : null))
client.destroy()
