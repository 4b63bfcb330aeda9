/** The rows of the fault table that a plain client can meet, on the real SDK and a real socket. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { seededRandom } from '../../../src/clock.ts'
import { type DevS3, startDevS3 } from '../../../src/dev-s3/server.ts'
import { explain, isFailure } from '../../../src/failure.ts'
import { conditionalPuts } from '../../../src/store/conditional.ts'
import { openStore } from '../../../src/store/open.ts'
import { type Retry, retrying } from '../../../src/store/retry.ts'
import type { S3Options } from '../../../src/store/s3-connection.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { HastyClock } from './hasty-clock.ts'
import { embedded, env, s3At, tempFolder } from './opening.ts'

const text = (value: string): Buffer => Buffer.from(value)
const quick = { timeouts: { connectMs: 500, idleMs: 500, attemptMs: 400 } }

async function faulty(options: S3Options = {}): Promise<{
  readonly server: DevS3
  readonly plain: ObjectStore
  readonly store: ObjectStore
  readonly retries: Retry[]
}> {
  const server = await embedded()
  const plain = s3At(server.endpoint, options)
  const retries: Retry[] = []
  const store = retrying(plain, {
    attempts: 8,
    clock: new HastyClock(),
    random: seededRandom(3),
    onRetry: (retry) => retries.push(retry),
  })
  return { server, plain, store, retries }
}

test('s3 faults: a reset in mid-put is retried; endless ones are given up by name', async () => {
  const { server, store, retries } = await faulty()
  server.faults.push({ times: 3, kind: 'reset' })
  const body = randomBytes(1_100_000)
  assert.equal((await store.put('k', body, { crc32: crc32(body) })).crc32, crc32(body))
  assert.equal(retries.length, 3)
  assert.deepEqual(await store.get('k'), body)
  server.faults.push({ times: 100, kind: 'reset' })
  await assert.rejects(store.put('k', body), (error) => {
    assert.ok(isFailure(error, 'unavailable'))
    assert.match(explain(error), /attempts=8.*the connection was cut.*k, code=E/)
    return true
  })
})

test('s3 faults: half the body read, then 503, twice: the object is the file’s bytes', async () => {
  const { server, store, retries } = await faulty()
  const path = join(tempFolder(), 'spooled')
  const bytes = randomBytes(2_000_000)
  writeFileSync(path, bytes)
  server.faults.push({ times: 2, kind: 'half-read' })
  await store.put('k', { path, offset: 0, length: bytes.length }, { crc32: crc32(bytes) })
  const sha = (of: Buffer | undefined) =>
    createHash('sha256')
      .update(of ?? '')
      .digest('hex')
  assert.equal(sha(await store.get('k')), sha(bytes))
  assert.equal(retries.length, 2)
})

test('s3 faults: an answer lost once kept: put again; a condition tells its own', async () => {
  const { server, store } = await faulty()
  server.faults.push({ times: 1, kind: 'drop-answer' })
  await store.put('k', text('x'))
  server.faults.push({ times: 1, kind: 'drop-answer' })
  // The second try finds the first one's object: false, though nobody else was there.
  assert.equal(await store.putIfAbsent('lock', text('mine')), false)
  assert.equal(String(await store.get('lock')), 'mine')
})

test('s3 faults: six times SlowDown, with and without Retry-After, is survived', async () => {
  const { server, store, retries } = await faulty()
  const slow = { kind: 'error', status: 503, code: 'SlowDown' } as const
  server.faults.push({ times: 3, ...slow }, { times: 3, ...slow, retryAfter: 2 })
  await store.put('k', text('x'))
  assert.equal(retries.length, 6)
  assert.ok(retries.slice(3).every(({ delayMs }) => delayMs >= 2000))
})

test('s3 faults: what may pass is tried again: 5xx, 429, 408, 409, skew, timeouts', async () => {
  const { server, store, retries } = await faulty()
  const passing = [
    [500, 'InternalError'],
    [502, 'BadGateway'],
    [504, 'GatewayTimeout'],
    [429, 'TooManyRequests'],
    [408, 'RequestTimeout'],
    [400, 'RequestTimeout'],
    [409, 'ConditionalRequestConflict'],
    [507, 'XMinioStorageFull'],
    [507, 'InsufficientStorage'],
    [403, 'RequestTimeTooSkewed'],
  ] as const
  for (const [status, code] of passing) {
    server.faults.push({ times: 1, kind: 'error', status, code })
    assert.equal(await store.putIfAbsent(`k/${status}/${code}`, text('x')), true)
  }
  assert.equal(retries.length, passing.length)
})

for (const kind of ['reset', 'error'] as const) {
  test(`s3 faults: 100 in flight and 400 times ${kind}: 300 of 300 are stored`, async () => {
    const { server, plain } = await faulty()
    const store = retrying(plain, {
      attempts: 30,
      clock: new HastyClock(),
      random: seededRandom(5),
    })
    const fault = kind === 'error' ? { kind, status: 503, code: 'SlowDown' } : { kind }
    server.faults.push({ times: 400, ...fault })
    const keys = Array.from({ length: 300 }, (_, i) => `k${i}`)
    const queue = keys.values()
    const lane = async () => {
      for (const key of queue) await store.put(key, text(key))
    }
    await Promise.all(Array.from({ length: 100 }, lane))
    assert.equal((await plain.listPage({ prefix: '' })).objects.length, 300)
  })
}

test('s3 faults: a server that stalls or drips is given up in time and tried again', async () => {
  const { server, store, retries } = await faulty(quick)
  await store.put('k', Buffer.alloc(2000, 1))
  server.faults.push({ times: 2, kind: 'stall' }, { times: 1, kind: 'drip' })
  assert.equal((await store.get('k'))?.length, 2000)
  assert.equal(retries.length, 3)
  for (const { failure } of retries) assert.match(failure.message, /in time|cut/)
})

test('s3 faults: a bit changed on its way is caught by CRC-32, by MD5, sent again', async () => {
  for (const checksums of ['when-supported', 'when-required'] as const) {
    const { server, store, retries } = await faulty({ checksums })
    server.faults.push({ times: 1, kind: 'flip' })
    await store.put('k', text('every bit counts'))
    assert.match(retries[0]?.failure.message ?? '', /damaged on their way/)
    server.faults.push({ times: 1, kind: 'flip' })
    const upload = await store.startMultipart('parts')
    await upload.complete([await upload.putPart(1, text('every bit counts'))])
    assert.equal(String(await store.get('parts')), 'every bit counts')
  }
})

test('s3 faults: an error in a 200, and what is no XML, are tried again', async () => {
  const { server, store, retries } = await faulty()
  await store.put('k', text('x'))
  server.faults.push({ times: 1, kind: 'error-in-200' }, { times: 1, kind: 'garbage' })
  assert.equal((await store.listPage({ prefix: '' })).objects.length, 1)
  assert.equal(retries.length, 2)
})

test('s3 faults: a portal’s page is no object, no listing and no answer to a put', async () => {
  const { server, store, retries } = await faulty()
  await store.put('k', text('x'))
  const asked: readonly (() => Promise<unknown>)[] = [
    async () => assert.equal(String(await store.get('k')), 'x'),
    async () => assert.equal((await store.head('k'))?.size, 1),
    async () => assert.equal((await store.listPage({ prefix: '' })).objects.length, 1),
    async () => assert.deepEqual(await store.openMultiparts(''), []),
    async () => assert.ok(await store.put('k', text('y'))),
  ]
  for (const [index, ask] of asked.entries()) {
    server.faults.push({ times: 2, kind: 'portal' })
    await ask()
    assert.equal(retries.length, 2 * (index + 1))
  }
  assert.match(explain(retries[0]?.failure), /not the store's: it has no ETag. store=.*\/k/)
})

test('s3 faults: a get that is cut short is tried again, and never short', async () => {
  const { server, store, retries } = await faulty()
  const body = randomBytes(500_000)
  await store.put('k', body)
  server.faults.push({ times: 2, kind: 'cut-answer' })
  assert.deepEqual(await store.get('k'), body)
  assert.equal(retries.length, 2)
})

test('s3 faults: wrong keys are final, and say what to check', async () => {
  const { server } = await faulty()
  const cases = [
    [{ ...env, AWS_SECRET_ACCESS_KEY: 'other' }, /secret key does not match/],
    [{ ...env, AWS_ACCESS_KEY_ID: 'other' }, /access key is unknown/],
  ] as const
  for (const [wrong, says] of cases) {
    const s3 = { endpoint: server.endpoint, pathStyle: true }
    const store = await openStore('s3://bucket', s3, { env: wrong })
    await assert.rejects(store.put('k', text('x')), (error) => {
      assert.ok(isFailure(error, 'invalid'))
      assert.match(error.message, says)
      assert.match(error.remedy ?? '', /AWS_ACCESS_KEY_ID/)
      return true
    })
    await assert.rejects(store.head('k'), (error) => isFailure(error, 'invalid'))
    store.close()
  }
})

for (const [code, remedy] of [
  ['AccessDenied', /get, put, list and delete/],
  ['InvalidTokenId', /AWS_ACCESS_KEY_ID/],
] as const) {
  test(`s3 faults: ${code} is final; the remedy says what to change`, async () => {
    const { server, store, retries } = await faulty()
    server.faults.push({ times: 9, kind: 'error', status: 403, code })
    await assert.rejects(store.put('k', text('x')), { kind: 'invalid', remedy })
    assert.equal(retries.length, 0)
    assert.equal(server.stats.requests.PutObject, 1)
  })
}

test('s3 faults: a missing bucket is named by put, list and get; head cannot tell', async () => {
  const { server } = await faulty()
  const store = s3At(server.endpoint, { bucket: 'no-such-bucket' })
  const asking = [
    () => store.put('k', text('x')),
    () => store.putIfAbsent('k', text('x')),
    () => store.get('k'),
    () => store.listPage({ prefix: '' }),
    () => store.startMultipart('k'),
  ]
  for (const ask of asking) {
    await assert.rejects(ask, (error) => {
      assert.ok(isFailure(error, 'invalid'))
      assert.match(error.message, /bucket does not exist.*s3:\/\/no-such-bucket/)
      return true
    })
  }
  assert.equal(await store.head('k'), undefined)
})

test('s3 faults: a store without checksum headers: an error names the right setting', async () => {
  const { server, store, retries } = await faulty()
  server.faults.push({ times: 1000, kind: 'refuse-checksums' })
  await assert.rejects(store.put('k', text('x')), (error) => {
    return isFailure(error, 'invalid') && /s3.checksums: when-required/.test(error.remedy ?? '')
  })
  assert.equal(retries.length, 0)
  assert.equal(server.stats.requests.PutObject, 1)
  const older = s3At(server.endpoint, { checksums: 'when-required' })
  const keys = Array.from({ length: 20 }, (_, i) => `k${i}`)
  await Promise.all(keys.map((key) => older.put(key, text(key), { crc32: crc32(key) })))
  assert.equal((await older.listPage({ prefix: '' })).objects.length, 20)
})

test('s3 faults: a store that ignores conditions is found out', async () => {
  const { server, store } = await faulty()
  server.faults.push({ times: 1000, kind: 'ignore-conditions' })
  assert.deepEqual(await conditionalPuts(store), { honoured: false })
  server.faults.splice(0)
  assert.deepEqual(await conditionalPuts(store), { honoured: true })
})

test('s3 faults: an endpoint that is down is tried again until it is up', async () => {
  const gone = await embedded()
  await gone.close()
  let server: DevS3 | undefined
  const store = retrying(s3At(gone.endpoint), {
    attempts: 10,
    clock: new HastyClock(),
    random: seededRandom(9),
    onRetry: ({ failure, attempt }) => {
      assert.match(failure.message, /nobody listens there|connection was cut/)
      if (attempt === 3) void start()
    },
  })
  const start = async () => {
    const keys = { accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY }
    server = await startDevS3({ ...keys, buckets: ['bucket'], port: gone.port })
  }
  await store.put('k', text('x'))
  assert.equal(String(await store.get('k')), 'x')
  await server?.close()
})
