import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** The embedded S3 server in a process of its own, as any store is to those that use it. */

const main = fileURLToPath(new URL('../../src/dev-s3/main.js', import.meta.url))
const credentials = { AWS_ACCESS_KEY_ID: 'bench-key', AWS_SECRET_ACCESS_KEY: 'bench-secret' }
const bucket = 'draftsmith'
const prefix = 'run'

export interface ServedS3 extends AsyncDisposable {
  readonly url: string
  readonly endpoint: string
  /** Where a client finds its keys. */
  readonly env: Readonly<Record<string, string>>
}

/** Where the server keeps what its clients call so. */
export const shelfPlace = (key: string) => ({ bucket, key: `${prefix}/${key}` })

/** @param dir  where its objects lie; absent: in its memory */
export async function serveS3(dir?: string): Promise<ServedS3> {
  const args = dir === undefined ? [] : ['--dir', dir]
  const env = { ...process.env, ...credentials }
  // It ends when its stdin does: also where this process is killed.
  const child = spawn(process.execPath, [main, '--bucket', bucket, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env,
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { endpoint } = z.object({ endpoint: z.string() }).parse(JSON.parse(String(line)))
  return {
    url: `s3://${bucket}/${prefix}`,
    endpoint,
    env: credentials,
    [Symbol.asyncDispose]: async () => {
      const closed = once(child, 'close')
      child.kill('SIGKILL')
      await closed
    },
  }
}
