/** Puts by the lean way, where they could differ from the SDK's: faults, clock, credentials. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import { seededRandom } from '../../../src/clock.ts'
import type { DevS3 } from '../../../src/dev-s3/server.ts'
import { Failure, isFailure } from '../../../src/failure.ts'
import { confirm } from '../../../src/store/confirm.ts'
import { limited } from '../../../src/store/limited.ts'
import { type Retry, retrying } from '../../../src/store/retry.ts'
import { S3Store } from '../../../src/store/s3.ts'
import { type Credentials, S3Connection, type S3Options } from '../../../src/store/s3-connection.ts'
import { putS3 } from '../../../src/store/s3-put.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { HastyClock } from './hasty-clock.ts'
import { embedded, env, s3At } from './opening.ts'

const text = (value: string): Buffer => Buffer.from(value)

function patient(store: ObjectStore): { readonly store: ObjectStore; readonly retries: Retry[] } {
  const retries: Retry[] = []
  const options = { attempts: 30, clock: new HastyClock(), random: seededRandom(4) }
  const onRetry = (retry: Retry) => void retries.push(retry)
  return { store: retrying(store, { ...options, onRetry }), retries }
}

async function putMany(store: ObjectStore, count: number, lanes: number): Promise<void> {
  const keys = Array.from({ length: count }, (_, i) => `k${i}`).values()
  const lane = async () => {
    for (const key of keys) await store.put(key, text(key))
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

test('s3 put: 100 in flight and 200 times no answer: 300 of 300 are stored', async () => {
  const server = await embedded()
  // In short of nothing but the whole: a slow machine may need a while to connect a hundred times.
  const timeouts = { attemptMs: 3000 }
  const plain = s3At(server.endpoint, { timeouts })
  const { store } = patient(plain)
  server.faults.push({ times: 200, kind: 'stall' })
  await putMany(store, 300, 100)
  assert.equal((await plain.listPage({ prefix: '' })).objects.length, 300)
})

test('s3 put: an error in a 200, a stranger’s page, a stall: each is tried again', async () => {
  const server = await embedded()
  const { store, retries } = patient(s3At(server.endpoint, { timeouts: { idleMs: 5000 } }))
  await store.put('k', text('connects'))
  server.faults.push(
    { times: 1, kind: 'error-in-200' },
    { times: 1, kind: 'garbage' },
    { times: 1, kind: 'stall' },
  )
  assert.equal(await store.putIfAbsent('lock', text('mine')), false)
  const says = retries.map(({ failure }) => failure.message)
  // On a busy machine more may fail than these, and between them.
  for (const say of [
    /it failed inside/,
    /its answer makes no sense/,
    /it did not answer in time/,
  ]) {
    assert.ok(
      says.some((said) => say.test(said)),
      `${say} is not among: ${says.join('; ')}`,
    )
  }
  assert.equal(String(await store.get('lock')), 'mine')
})

test('s3 put: half a body kept and a 200: the acknowledgement does not confirm it', async () => {
  const server = await embedded()
  const store = s3At(server.endpoint)
  const body = text('every byte counts')
  server.faults.push({ times: 1, kind: 'truncate' })
  const sent = { crc32: crc32(body), size: body.length, body }
  const ack = await store.put('k', body, sent)
  await assert.rejects(confirm(store, 'k', ack, sent), (error) => isFailure(error, 'corrupt'))
  assert.equal(await confirm(store, 'k', await store.put('k', body, sent), sent), 'checksum')
})

test('s3 put: a body that has not the CRC-32 given is refused, and not tried again', async () => {
  const server = await embedded()
  const { store, retries } = patient(s3At(server.endpoint))
  const wrong = store.put('k', text('body'), { crc32: crc32('another') })
  await assert.rejects(wrong, { kind: 'corrupt', message: /has another CRC-32/ })
  assert.deepEqual([retries.length, await store.head('k')], [0, undefined])
  // One that was damaged on its way has the right one, and may pass.
  server.faults.push({ kind: 'flip', times: 1 })
  await store.put('k', text('body'), { crc32: crc32('body') })
  assert.equal(retries.length, 1)
})

test('s3 put: under five permits, cut and half-read as it may be, never six are open', async () => {
  const server = await embedded()
  const free = Array.from({ length: 5 }, (_, i) => i)
  const waiting: (() => void)[] = []
  const acquire = async () => {
    while (free.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    free.pop()
    return () => {
      free.push(0)
      waiting.shift()?.()
    }
  }
  const { store } = patient(limited(s3At(server.endpoint), acquire))
  server.faults.push(
    { times: 20, kind: 'delay', ms: 20 },
    { times: 20, kind: 'reset' },
    { times: 20, kind: 'half-read' },
    { times: 20, kind: 'error', status: 503, code: 'SlowDown' },
    { times: 20, kind: 'delay', ms: 20 },
  )
  await putMany(store, 100, 20)
  assert.equal(server.stats.peak, 5)
})

test('s3 put: a clock an hour off is put right by the first answer, for gets too', async () => {
  const server = await embedded()
  const { connection, put } = lean(server)
  const { config } = connection.client
  const get = (Key: string) =>
    connection.attempt({ doing: 'get', what: `s3://bucket/${Key}` }, ({ signal }) =>
      connection.client.send(new GetObjectCommand({ Bucket: 'bucket', Key }), {
        abortSignal: signal,
      }),
    )
  for (const first of [put, get]) {
    for (const hour of [-3_600_000, 3_600_000]) {
      config.systemClockOffset = hour
      await assert.rejects(first('k'), (error) => {
        return isFailure(error, 'unavailable') && /clock is wrong/.test(error.message)
      })
      assert.ok(Math.abs(config.systemClockOffset) < 60_000)
      assert.equal((await put('k')).kind, 'done')
      assert.equal((await get('k')).kind, 'done')
    }
  }
})

test('s3 put: credentials that expire in mid-run are loaded anew once, for all', async () => {
  const server = await embedded()
  for (const id of ['K1', 'K2']) server.secrets.set(id, `of-${id}`)
  let id = 'K1'
  let loaded = 0
  const provider: Credentials = async () => {
    loaded += 1
    return { accessKeyId: id, secretAccessKey: `of-${id}`, sessionToken: `token of ${id}` }
  }
  const { put } = lean(server, provider)
  await put('first')
  assert.equal(loaded, 1)
  const expired = { kind: 'error', status: 400, code: 'ExpiredToken' } as const
  server.faults.push({ times: 1000, match: { accessKeyId: 'K1' }, ...expired })
  id = 'K2'
  const keys = Array.from({ length: 20 }, (_, i) => `k${i}`)
  const answers = await Promise.all(keys.map((key) => put(key)))
  assert.ok(answers.every(({ kind }) => kind === 'done'))
  assert.equal(loaded, 2)
})

test('s3 put: what the SDK alone can sign for goes through the SDK', async () => {
  const server = await embedded()
  const store = s3At(server.endpoint, { bucket: 'name--use1-az4--x-s3' })
  // The SDK first asks for a session (a GET of `?session`), which this server knows nothing of.
  await assert.rejects(store.put('k', text('x')), Failure)
  assert.deepEqual(server.stats.requests, { GetObject: 1 })
})

test('s3 put: without credentials it fails by name, and nothing is sent', async () => {
  const server = await embedded()
  const settings = { endpoint: server.endpoint, region: 'us-east-1', pathStyle: true }
  const none: Credentials = async () => {
    throw Object.assign(new Error('nowhere'), { name: 'CredentialsProviderError' })
  }
  const store = new S3Store({ bucket: 'bucket', prefix: '' }, settings, none)
  after(() => store.close())
  await assert.rejects(store.put('k', text('x')), (error) => {
    return isFailure(error, 'invalid') && /there are no credentials/.test(error.message)
  })
  assert.deepEqual(server.stats.requests, {})
})

test('s3 put: a provider of credentials that stumbles in mid-run is asked again', async () => {
  const server = await embedded()
  let stumbles = false
  // Always about to expire, so that each request asks for them anew.
  const stumbling: Credentials = async () => {
    if (stumbles) throw Object.assign(new Error('busy'), { name: 'CredentialsProviderError' })
    const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env
    return { accessKeyId, secretAccessKey, expiration: new Date() }
  }
  const { put } = lean(server, stumbling)
  await put('first')
  stumbles = true
  await assert.rejects(put('second'), (error) => {
    return isFailure(error, 'unavailable') && /cannot be loaded at present/.test(error.message)
  })
  stumbles = false
  assert.equal((await put('second')).kind, 'done')
})

test('s3 put: a provider of credentials that hangs ends with the attempt', async () => {
  const server = await embedded()
  let hangs = true
  let asked = 0
  const provider: Credentials = async () => {
    asked += 1
    if (hangs) await new Promise(() => undefined)
    return { accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY }
  }
  const late = (error: unknown) => {
    return isFailure(error, 'unavailable') && /did not answer in time/.test(error.message)
  }
  const hurried = { timeouts: { attemptMs: 50 } }
  await assert.rejects(lean(server, provider, hurried).put('k'), late)
  const other = lean(server, provider, hurried).connection
  const at = { doing: 'list', what: 's3://bucket' }
  const list = () => other.client.send(new ListObjectsV2Command({ Bucket: 'bucket' }))
  await assert.rejects(other.attempt(at, list), late)
  assert.deepEqual(server.stats.requests, {})
  hangs = false
  const { put } = lean(server, provider, { timeouts: { attemptMs: 2000 } })
  await put('k')
  hangs = true
  server.faults.push({ times: 1, kind: 'error', status: 400, code: 'ExpiredToken' })
  const before = asked
  await assert.rejects(put('k'), { kind: 'unavailable', message: /cannot be loaded anew/ })
  assert.equal(asked, before + 1)
})

/** Beneath the store, where the SDK's own state can be seen. */
function lean(server: DevS3, credentials?: Credentials, options: S3Options = {}) {
  const keys = {
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
  }
  const settings = { endpoint: server.endpoint, region: 'us-east-1', pathStyle: true, ...options }
  const connection = new S3Connection(settings, credentials ?? keys)
  after(() => connection.close())
  const at = { connection, bucket: 'bucket', root: '', url: 's3://bucket', checksums: true }
  const put = (key: string) => putS3(at, { key, body: text('x'), options: {} })
  return { connection, put }
}
