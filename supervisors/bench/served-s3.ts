import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type Running, startProcess } from './fresh.ts'

/** Servers of ours, each in a process of its own, as any store is to those that use it. */

const embedded = new URL('../../src/dev-s3/main.js', import.meta.url)
const credentials = { AWS_ACCESS_KEY_ID: 'bench-key', AWS_SECRET_ACCESS_KEY: 'bench-secret' }
const bucket = 'draftsmith'
const prefix = 'run'

export interface Served {
  readonly endpoint: string
  readonly running: Running
}

export interface Serving {
  readonly script: URL
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

const firstLine = z.object({ endpoint: z.string() })

/**
 * Starts a script whose first line tells where it listens.
 *
 * @throws  Error: it ended before that
 */
export async function startServing({ script, args, env }: Serving): Promise<Served> {
  const path = fileURLToPath(script)
  const running = startProcess({ command: process.execPath, args: [path, ...args], env })
  const lines = createInterface({ input: running.stdout })[Symbol.asyncIterator]()
  const { done, value } = await lines.next()
  if (done) throw new Error(`a server ended before it listened. script=${path}`)
  return { running, endpoint: firstLine.parse(JSON.parse(value)).endpoint }
}

/** The embedded S3 server. @param args  as `dev-s3/main.ts` takes them */
export const startEmbedded = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Served> => startServing({ script: embedded, args, env })

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
  const args = ['--bucket', bucket, ...(dir === undefined ? [] : ['--dir', dir])]
  const { endpoint, running } = await startEmbedded(args, credentials)
  return {
    url: `s3://${bucket}/${prefix}`,
    endpoint,
    env: credentials,
    [Symbol.asyncDispose]: () => running.kill(),
  }
}
