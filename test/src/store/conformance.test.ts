import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { seededRandom } from '../../../src/clock.ts'
import type { Fault } from '../../../src/dev-s3/faults.ts'
import { FileStore } from '../../../src/store/file.ts'
import { limited } from '../../../src/store/limited.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { retrying } from '../../../src/store/retry.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { needs } from '../../support/needs.ts'
import { conformance } from './conformance.ts'
import { keysOf } from './contents.ts'
import { HastyClock } from './hasty-clock.ts'
import { embedded, env, s3At, tempFolder } from './opening.ts'

let opened = 0
const prefix = (): string => `store ${opened++}`

conformance('memory', async () => new MemoryStore())
conformance('file', async () => new FileStore(`${tempFolder()}/not/there/yet`))

const server = await embedded()
conformance('s3', async () => s3At(server.endpoint, { prefix: prefix() }))

const older = await embedded(tempFolder())
older.faults.push({ times: Number.POSITIVE_INFINITY, kind: 'refuse-checksums' })
conformance('s3 without checksum headers', async () =>
  s3At(older.endpoint, { prefix: prefix(), checksums: 'when-required' }),
)

// Every third request fails, in turn by 503 and by a reset in its middle.
const faulty = await embedded()
conformance('s3 that fails every third time, retried under permits', async () => {
  const flaky = everyThirdFails(s3At(faulty.endpoint, { prefix: prefix() }))
  const options = { attempts: 10, clock: new HastyClock(), random: seededRandom(7) }
  return retrying(flaky, options)
})

function everyThirdFails(store: ObjectStore): ObjectStore {
  const faults: readonly Fault[] = [
    { times: 1, kind: 'error', status: 503, code: 'SlowDown' },
    { times: 1, kind: 'reset' },
  ]
  let requests = 0
  return limited(store, async () => {
    requests += 1
    const fault = requests % 3 === 0 ? faults[requests % 2] : undefined
    // In place of one that a request left, which was refused before it was sent.
    if (fault) faulty.faults.splice(0, 1, { ...fault })
    return () => {}
  })
}

// Started by the first test that has the binary; ended, and its folder removed, after the last.
const minioFolder = tempFolder()
const minioStartMs = 60_000
let minioProcess: ChildProcess | undefined
let minio: Promise<string> | undefined
after(() => minioProcess?.kill('SIGKILL'))

conformance('minio', async (t) => {
  const endpoint = await minioEndpoint(t)
  return endpoint === undefined ? undefined : s3At(endpoint, { prefix: prefix() })
})

test('minio: 1001 keys are listed, over two pages', async (t) => {
  const endpoint = await minioEndpoint(t)
  if (endpoint === undefined) return
  const store = s3At(endpoint, { prefix: 'many' })
  const keys = Array.from({ length: 1001 }, (_, i) => `k${String(i).padStart(6, '0')}`)
  await Promise.all(keys.map((key) => store.put(key, Buffer.from(key))))
  assert.deepEqual(await keysOf(store.list('')), keys)
})

async function minioEndpoint(t: TestContext): Promise<string | undefined> {
  const binary = needs(t, 'minio')
  if (binary === undefined) return undefined
  minio ??= startMinio(binary)
  return minio
}

async function startMinio(binary: string): Promise<string> {
  const address = `127.0.0.1:${await freePort()}`
  const child = spawn(binary, ['server', '--quiet', '--address', address, minioFolder], {
    stdio: 'ignore',
    env: {
      ...process.env,
      MINIO_BROWSER: 'off',
      MINIO_ROOT_USER: env.AWS_ACCESS_KEY_ID,
      MINIO_ROOT_PASSWORD: env.AWS_SECRET_ACCESS_KEY,
    },
  })
  minioProcess = child
  const endpoint = `http://${address}`
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: {
      accessKeyId: env.AWS_ACCESS_KEY_ID,
      secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    },
  })
  const deadline = Date.now() + minioStartMs
  for (;;) {
    try {
      await client.send(new CreateBucketCommand({ Bucket: 'bucket' }))
      break
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline) throw error
      await wait(100)
    }
  }
  client.destroy()
  return endpoint
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
