import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type GetObjectCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  UploadPartCommand,
  type UploadPartCommandInput,
} from '@aws-sdk/client-s3'
import { isFailure } from '../../../src/failure.ts'
import { crcToHeader } from '../../../src/store/s3-headers.ts'
import { keysOf } from '../store/contents.ts'
import { embedded, env, s3At, tempFolder } from '../store/opening.ts'

const text = (value: string): Buffer => Buffer.from(value)

const clientOf = (endpoint: string, config: S3ClientConfig = {}): S3Client =>
  new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: {
      accessKeyId: env.AWS_ACCESS_KEY_ID,
      secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    },
    ...config,
  })

/** Sends a request as it is, and gives the status and the body of the answer. */
function raw(
  endpoint: string,
  options: { readonly path: string; readonly headers?: Record<string, string> },
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${endpoint}${options.path}`, { headers: options.headers }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (chunk) => {
        body += chunk
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
    })
    sent.on('error', reject).end()
  })
}

test('dev s3: it listens on 127.0.0.1 and lets nobody in unsigned', async () => {
  const server = await embedded()
  assert.match(server.endpoint, /^http:\/\/127\.0\.0\.1:\d+$/)
  const answer = await raw(server.endpoint, { path: '/bucket/k' })
  assert.equal(answer.status, 403)
  assert.match(answer.body, /<Code>AccessDenied<\/Code>/)
})

test('dev s3: a header or a query that changes after signing is refused', async () => {
  const server = await embedded()
  const client = clientOf(server.endpoint)
  client.middlewareStack.add(
    (next) => (args) => {
      const { request: signed } = args
      if (typeof signed === 'object' && signed !== null && 'query' in signed) {
        signed.query = { 'list-type': '2', prefix: 'another' }
      }
      return next(args)
    },
    { step: 'finalizeRequest', priority: 'low', name: 'tamper' },
  )
  await assert.rejects(client.send(new ListObjectsV2Command({ Bucket: 'bucket', Prefix: 'p' })), {
    name: 'SignatureDoesNotMatch',
  })
  client.destroy()
})

test('dev s3: an hour-old signature is refused; the SDK sets its clock by the answer', async () => {
  const server = await embedded()
  const client = clientOf(server.endpoint, { systemClockOffset: -3_600_000 })
  const put = () => client.send(new PutObjectCommand({ Bucket: 'bucket', Key: 'k', Body: 'x' }))
  await assert.rejects(put(), { name: 'RequestTimeTooSkewed' })
  await put()
  client.destroy()
})

test('dev s3: the framing of a streamed body is taken off, its trailer verified', async () => {
  const server = await embedded()
  const client = clientOf(server.endpoint, { requestChecksumCalculation: 'WHEN_SUPPORTED' })
  const chunks = Array.from({ length: 50 }, (_, i) => Buffer.alloc(10_000, i))
  const command = new PutObjectCommand({
    Bucket: 'bucket',
    Key: 'streamed',
    Body: Readable.from(chunks),
    ContentLength: 500_000,
  })
  const answer: Pick<GetObjectCommandOutput, 'ChecksumCRC32'> = await client.send(command)
  assert.ok(answer.ChecksumCRC32)
  assert.deepEqual(await s3At(server.endpoint).get('streamed'), Buffer.concat(chunks))
  client.destroy()
})

test('dev s3: a delimiter folds keys into folders, page by page', async () => {
  const server = await embedded()
  const store = s3At(server.endpoint)
  for (const key of ['a/1', 'a/2', 'b', 'c/1', 'c/2', 'c/3', 'd']) await store.put(key, text(key))
  const client = clientOf(server.endpoint)
  const names: string[] = []
  let token: string | undefined
  do {
    const page = await client.send(
      new ListObjectsV2Command({
        Bucket: 'bucket',
        Delimiter: '/',
        MaxKeys: 1,
        ContinuationToken: token,
      }),
    )
    names.push(...(page.CommonPrefixes ?? []).map(({ Prefix = '' }) => Prefix))
    names.push(...(page.Contents ?? []).map(({ Key = '' }) => Key))
    token = page.NextContinuationToken
  } while (token !== undefined)
  assert.deepEqual(names, ['a/', 'b', 'c/', 'd'])
  client.destroy()
})

test('dev s3: parts below 5 MiB are refused; on demand those of unequal size too', async () => {
  const server = await embedded()
  const store = s3At(server.endpoint)
  const mib = 1 << 20
  const complete = async (sizes: readonly number[]): Promise<void> => {
    const upload = await store.startMultipart('k')
    const puts = sizes.map((size, i) => upload.putPart(i + 1, Buffer.alloc(size)))
    const refs = await Promise.all(puts)
    await upload.complete(refs).finally(() => upload.abort())
  }
  const unequal = [
    [6 * mib, 5 * mib, mib],
    [5 * mib, 6 * mib],
  ]
  await assert.rejects(complete([mib, mib]), (error) => isFailure(error, 'invalid'))
  for (const sizes of unequal) await complete(sizes)
  await store.remove('k')
  server.faults.push({ kind: 'equal-parts', times: Number.POSITIVE_INFINITY })
  for (const sizes of unequal) {
    await assert.rejects(complete(sizes), (error) => isFailure(error, 'invalid'))
  }
  assert.equal(await store.head('k'), undefined)
  await complete([5 * mib, 5 * mib, mib])
})

test('dev s3: a part’s checksum must be the one that was announced, and be right', async () => {
  const server = await embedded()
  const client = clientOf(server.endpoint, { requestChecksumCalculation: 'WHEN_REQUIRED' })
  const object = { Bucket: 'bucket', Key: 'k' }
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(object))
  const part = { ...object, UploadId, PartNumber: 1, Body: text('one') }
  const right = crcToHeader(crc32('one'))
  const put = (command: UploadPartCommandInput) => client.send(new UploadPartCommand(command))
  await assert.rejects(put({ ...part, ChecksumCRC32: right }), { name: 'InvalidRequest' })

  const crc = { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const
  const announced = await client.send(new CreateMultipartUploadCommand({ ...object, ...crc }))
  assert.equal(announced.ChecksumType, 'FULL_OBJECT')
  const guarded = { ...part, UploadId: announced.UploadId }
  await assert.rejects(put(guarded), { name: 'InvalidRequest' })
  const wrong = { ...guarded, ChecksumCRC32: crcToHeader(crc32('two')) }
  await assert.rejects(put(wrong), { name: 'BadDigest' })
  const { ETag } = await put({ ...guarded, ChecksumCRC32: right })

  const ended = { ...object, UploadId: announced.UploadId, ChecksumType: 'FULL_OBJECT' } as const
  const complete = (ChecksumCRC32: string, MpuObjectSize: number) => {
    const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] }
    const command = { ...ended, MultipartUpload, ChecksumCRC32, MpuObjectSize }
    return client.send(new CompleteMultipartUploadCommand(command))
  }
  await assert.rejects(complete(crcToHeader(1), 3), { name: 'BadDigest' })
  await assert.rejects(complete(right, 4), { name: 'InvalidRequest' })
  assert.equal((await complete(right, 3)).ChecksumCRC32, right)
  client.destroy()
})

test('dev s3: lists of parts, uploads and objects go on over short pages', async () => {
  const server = await embedded()
  server.faults.push({ kind: 'short-pages', times: Number.POSITIVE_INFINITY })
  const store = s3At(server.endpoint)
  const numbers = [1, 2, 3, 4, 5]
  const upload = await store.startMultipart('a')
  for (const number of numbers) await upload.putPart(number, text(`part ${number}`))
  assert.deepEqual(
    (await upload.listParts()).map(({ number }) => number),
    numbers,
  )
  const keys = ['a', 'a', 'b', 'b', 'b', 'c', 'd']
  for (const key of keys.slice(1)) await store.startMultipart(key)
  const open = await store.openMultiparts('')
  assert.deepEqual(
    open.map(({ key }) => key),
    keys,
  )
  assert.equal(new Set(open.map(({ id }) => id)).size, keys.length)
  for (const key of numbers) await store.put(`n${key}`, text('x'))
  assert.deepEqual(
    await keysOf(store.list('')),
    numbers.map((key) => `n${key}`),
  )
})

test('dev s3: what was stored outlives the server; a torn journal loses one line', async () => {
  const dir = tempFolder()
  const first = await embedded(dir)
  const store = s3At(first.endpoint)
  await store.put('kept', text('old'))
  await store.put('kept', text('new'))
  await store.put('gone', text('x'))
  await store.remove('gone')
  const before = await store.head('kept')
  await first.close()
  const { appendFileSync } = await import('node:fs')
  appendFileSync(`${dir}/journal.jsonl`, '{"put":{"bucket":"bucket","key":"ha')
  const again = s3At((await embedded(dir)).endpoint)
  assert.equal(String(await again.get('kept')), 'new')
  assert.deepEqual(await again.head('kept'), before)
  assert.equal(await again.head('gone'), undefined)
})

const noBodies = { puts: 0, bytes: 0, again: 0, bytesAgain: 0 }

test('dev s3: as a process it takes faults, tells counts, and ends with its stdin', async () => {
  const entry = fileURLToPath(new URL('../../../src/dev-s3/main.js', import.meta.url))
  const child = spawn(process.execPath, [entry, '--dir', tempFolder(), '--bucket', 'bucket'], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const answer = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value))
  const tell = (line: object) => child.stdin.write(`${JSON.stringify(line)}\n`)

  const hello = await answer()
  assert.ok(typeof hello === 'object' && hello !== null && 'endpoint' in hello)
  const store = s3At(String(hello.endpoint))
  tell({ faults: [{ times: 1, kind: 'error', status: 500, code: 'InternalError' }] })
  assert.deepEqual(await answer(), { faults: 1 })
  await assert.rejects(store.put('k', text('x')), (error) => isFailure(error, 'unavailable'))
  await store.put('k', text('x'))
  tell({ stats: true })
  assert.deepEqual(await answer(), {
    stats: { requests: { PutObject: 2 }, bodies: noBodies, open: 0, peak: 1 },
  })
  child.stdin.end()
  assert.deepEqual(await once(child, 'exit'), [0, null])
})
