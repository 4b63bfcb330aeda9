import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type DevS3, startDevS3 } from '../../../src/dev-s3/server.ts'
import { S3Store } from '../../../src/store/s3.ts'
import type { S3Options } from '../../../src/store/s3-connection.ts'
import type { ObjectStore } from '../../../src/store/store.ts'

export const env = { AWS_ACCESS_KEY_ID: 'test-key', AWS_SECRET_ACCESS_KEY: 'test-secret' }

/** A folder that is removed when the file's tests are over. */
export function tempFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'draftsmith-store-'))
  after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** The embedded server, closed when the file's tests are over. */
export async function embedded(dir?: string): Promise<DevS3> {
  const server = await startDevS3({
    ...(dir !== undefined && { dir }),
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    buckets: ['bucket'],
  })
  after(() => server.close())
  return server
}

/** A store on such a server, or on another at `endpoint`. */
export function s3At(
  endpoint: string,
  options: S3Options & { readonly prefix?: string; readonly bucket?: string } = {},
): ObjectStore {
  const { prefix = '', bucket = 'bucket', ...s3 } = options
  const settings = { endpoint, region: 'us-east-1', pathStyle: true, ...s3 }
  const credentials = {
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
  }
  const place = { bucket, prefix: prefix.replace(/\/+$/, '') }
  const store = new S3Store(place, settings, credentials)
  after(() => store.close())
  return store
}
