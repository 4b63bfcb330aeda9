import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { seededRandom } from '../../../src/clock.ts'
import type { Fault } from '../../../src/dev-s3/faults.ts'
import { Failure } from '../../../src/failure.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { type FileToPut, type PartSizes, putFile } from '../../../src/store/put-file.ts'
import { retrying } from '../../../src/store/retry.ts'
import type { S3Options } from '../../../src/store/s3-connection.ts'
import type {
  FileBody,
  MultipartUpload,
  ObjectStore,
  PutOptions,
} from '../../../src/store/store.ts'
import { fileCrc32 } from '../../support/file-crc32.ts'
import { scratch } from '../../support/target-run.ts'
import { HastyClock } from './hasty-clock.ts'
import { embedded, s3At } from './opening.ts'

const MiB = 2 ** 20
const small: PartSizes = { wholeBytesMax: 100, partBytes: 40 }

/** What became of the parts of an upload, and of the upload. */
class Watched extends MemoryStore {
  readonly sizes: number[] = []
  readonly afterAbort: number[] = []
  /** Called before each part. */
  beforePart: (number: number) => void = () => undefined
  /** Called before an upload is completed, and after it. */
  beforeComplete: () => void = () => undefined
  afterComplete: () => void = () => undefined
  aborted = 0

  override async startMultipart(key: string): Promise<MultipartUpload> {
    return this.#watched(await super.startMultipart(key))
  }

  override async openMultiparts(prefix: string): Promise<readonly MultipartUpload[]> {
    return (await super.openMultiparts(prefix)).map((upload) => this.#watched(upload))
  }

  #watched(upload: MultipartUpload): MultipartUpload {
    return {
      ...upload,
      putPart: async (number, body, options: PutOptions = {}) => {
        if (this.aborted > 0) this.afterAbort.push(number)
        this.beforePart(number)
        const part = await upload.putPart(number, body, options)
        this.sizes[number - 1] = part.size
        if (this.aborted > 0) this.afterAbort.push(number)
        return part
      },
      complete: async (parts, whole) => {
        this.beforeComplete()
        const said = await upload.complete(parts, whole)
        this.afterComplete()
        return said
      },
      abort: async () => {
        this.aborted += 1
        await upload.abort()
      },
    }
  }
}

/** Its bytes are read at each attempt. */
interface FileOnDisk extends FileToPut {
  readonly body: FileBody
}

/** A file of zeros, and an `end` that tells its end from the rest. */
async function fileOf(t: TestContext, bytes: number, end = 'end'): Promise<FileOnDisk> {
  const path = join(await scratch(t), 'file')
  await using file = await open(path, 'w')
  await file.truncate(bytes)
  await file.write(Buffer.from(end), 0, end.length, bytes - end.length)
  return { key: 'k', body: { path, offset: 0, length: bytes }, crc32: await fileCrc32(path) }
}

const stretch = ({ body }: FileOnDisk, number: number) => {
  const offset = (number - 1) * small.partBytes
  const length = Math.min(small.partBytes, body.length - offset)
  return { path: body.path, offset, length }
}

const isOpen = async (store: ObjectStore): Promise<boolean> =>
  (await store.openMultiparts('')).length > 0

test('put file: one that is small goes whole, with its checksum', async (t) => {
  const store = new Watched()
  const file = await fileOf(t, 1000)
  await assert.rejects(putFile(store, { ...file, crc32: 1 }), { kind: 'corrupt' })
  assert.equal(await store.head('k'), undefined)
  assert.equal(await putFile(store, file), 'checksum')
  assert.deepEqual(store.sizes, [])
})

test('put file: a large one goes in equal parts; other uploads of its key go first', async (t) => {
  const store = new Watched()
  const orphan = await store.startMultipart('k')
  await orphan.putPart(1, Buffer.from('of another file'))
  store.sizes.length = 0
  const other = await store.startMultipart('k2')
  const file = await fileOf(t, 65 * MiB + 7)
  assert.equal(await putFile(store, file), 'checksum')
  assert.deepEqual(store.sizes, [16 * MiB, 16 * MiB, 16 * MiB, 16 * MiB, MiB + 7])
  const { length } = file.body
  assert.equal((await store.head('k'))?.size, length)
  assert.equal(String(await store.get('k', { start: length - 3, end: length })), 'end')
  const open = await store.openMultiparts('k')
  assert.deepEqual(
    open.map(({ id }) => id),
    [other.id],
  )
})

test('put file: 37 MiB in parts of 8, to a store that wants them equal', async (t) => {
  const server = await embedded()
  const complete = { operation: 'CompleteMultipartUpload' }
  server.faults.push({ kind: 'equal-parts', match: complete, times: 9 })
  const file = await fileOf(t, 37 * MiB)
  const sizes = { wholeBytesMax: 8 * MiB, partBytes: 8 * MiB }
  const store = s3At(server.endpoint)
  assert.equal(await putFile(store, file, { sizes }), 'checksum')
  assert.equal(server.stats.requests.UploadPart, 5)
  assert.equal((await store.head('k'))?.crc32, file.crc32)
})

test('put file: a store without checksums is asked once, then confirmed otherwise', async (t) => {
  const server = await embedded()
  server.faults.push({
    match: { operation: 'CreateMultipartUpload' },
    kind: 'error',
    status: 501,
    code: 'NotImplemented',
    times: 1,
  })
  const sizes = { wholeBytesMax: 5 * MiB, partBytes: 5 * MiB }
  const store = s3At(server.endpoint)
  const file = await fileOf(t, 6 * MiB)
  assert.equal(await putFile(store, file, { sizes }), 'read-back')
  assert.equal(server.stats.requests.CreateMultipartUpload, 2)
  assert.equal(await isOpen(store), false)
})

test('put file: where a part fails, no part comes after the abort', async (t) => {
  const store = new Watched()
  store.beforePart = (number) => {
    if (number === 2) throw new Failure('unavailable', 'the line is down')
  }
  const putting = putFile(store, await fileOf(t, 1000), { sizes: small })
  await assert.rejects(putting, { message: 'the line is down' })
  assert.equal(store.aborted, 1)
  assert.deepEqual(store.afterAbort, [])
  assert.equal(await isOpen(store), false)
  assert.equal(await store.head('k'), undefined)
})

test('put file: told to stop, it aborts what it began, and sends nothing after', async (t) => {
  const store = new Watched()
  const stopping = new AbortController()
  store.beforePart = (number) => {
    if (number === 3) stopping.abort(new Error('stopped'))
  }
  const file = await fileOf(t, 1000)
  const putting = putFile(store, file, { sizes: small, signal: stopping.signal })
  await assert.rejects(putting, { message: 'stopped' })
  assert.deepEqual(store.afterAbort, [])
  assert.equal(await isOpen(store), false)
  assert.equal(await store.head('k'), undefined)
})

test('put file: an open upload of the same file is gone on with', async (t) => {
  const store = new Watched()
  const file = await fileOf(t, 130)
  const left = await store.startMultipart('k')
  for (const number of [4, 1]) await left.putPart(number, stretch(file, number))
  const second = await store.startMultipart('k')
  const sent: number[] = []
  store.beforePart = (number) => sent.push(number)
  assert.equal(await putFile(store, file, { sizes: small }), 'checksum')
  assert.deepEqual(sent, [2, 3])
  assert.equal(store.aborted, 1, `${second.id} goes: one is enough`)
  assert.equal(await isOpen(store), false)
})

test('put file: an upload with a part that is not of this file is aborted', async (t) => {
  const file = await fileOf(t, 130)
  const other = await fileOf(t, 130, 'END')
  const wrong = [
    { name: 'bytes', number: 4, body: stretch(other, 4) },
    { name: 'size', number: 1, body: { ...file.body, length: 41 } },
    { name: 'number', number: 5, body: stretch(file, 1) },
  ]
  for (const { name, number, body } of wrong) {
    const store = new Watched()
    await (await store.startMultipart('k')).putPart(number, body)
    const sent: number[] = []
    store.beforePart = (part) => sent.push(part)
    assert.equal(await putFile(store, file, { sizes: small }), 'checksum', name)
    assert.deepEqual(sent, [1, 2, 3, 4], name)
    assert.equal(store.aborted, 1, name)
  }
})

test('put file: an upload that is taken away meanwhile is begun anew', async (t) => {
  const store = new Watched()
  const file = await fileOf(t, 130)
  const left = await store.startMultipart('k')
  await left.putPart(1, stretch(file, 1))
  let times = 0
  store.beforeComplete = () => {
    if (times++ === 0) void left.abort()
  }
  assert.equal(await putFile(store, file, { sizes: small }), 'checksum')
  assert.equal(times, 2)
})

test('put file: completed, its answer lost: the object tells that all is well', async (t) => {
  const store = new Watched()
  const file = await fileOf(t, 130)
  store.afterComplete = () => {
    throw new Failure('invalid', 'no such upload')
  }
  assert.equal(await putFile(store, file, { sizes: small }), 'checksum')
})

test('put file: other bytes than the checksum says never appear', async (t) => {
  const store = new Watched()
  const file = await fileOf(t, 130)
  const putting = putFile(store, { ...file, crc32: file.crc32 ^ 1 }, { sizes: small })
  await assert.rejects(putting, { kind: 'corrupt' })
  assert.equal(await store.head('k'), undefined)
  assert.equal(await isOpen(store), false)
})

/** S3 under the wrapper that a run puts around it, and a file of two parts. */
async function overS3(t: TestContext, partBytes: number, options: S3Options = {}) {
  const server = await embedded()
  const clock = new HastyClock()
  const plain = s3At(server.endpoint, options)
  const store = retrying(plain, { attempts: 8, clock, random: seededRandom(6) })
  const file = await fileOf(t, partBytes + 1000)
  const sizes = { wholeBytesMax: partBytes, partBytes }
  const partsSent = () => server.stats.requests.UploadPart
  return { server, store, file, partsSent, putFile: () => putFile(store, file, { sizes }) }
}

const spoiltEnds: readonly (readonly [string, Fault])[] = [
  ['joined, its answer lost', { times: 2, kind: 'drop-answer' }],
  ['joined, an error in the 200', { times: 1, kind: 'error-in-200' }],
  [
    'not joined, an error in the 200',
    { times: 2, kind: 'error', status: 200, code: 'InternalError' },
  ],
]

for (const [name, fault] of spoiltEnds) {
  test(`put file: ${name}: over S3 the object is whole and no upload is open`, async (t) => {
    const { server, store, file, partsSent, putFile } = await overS3(t, 5 * MiB)
    server.faults.push({ ...fault, match: { operation: 'CompleteMultipartUpload' } })
    assert.equal(await putFile(), 'checksum')
    assert.deepEqual(server.faults, [])
    const head = await store.head('k')
    assert.deepEqual([head?.size, head?.crc32], [file.body.length, file.crc32])
    assert.equal(await isOpen(store), false)
    assert.equal(partsSent(), 2)
  })
}

for (const checksums of ['when-supported', 'when-required'] as const) {
  // Half of the one is too small for a part, half of the other is not.
  for (const partMiB of [8, 10]) {
    const title = `half of each part of ${partMiB} MiB kept and a 200, ${checksums}`
    test(`put file: ${title}: found out, and sent again`, async (t) => {
      const s3 = await overS3(t, partMiB * MiB, { checksums })
      const { server, store, file, partsSent, putFile } = s3
      server.faults.push({ times: 2, kind: 'truncate', match: { operation: 'UploadPart' } })
      assert.equal(await putFile(), checksums === 'when-supported' ? 'checksum' : 'read-back')
      assert.deepEqual(server.faults, [])
      assert.equal(partsSent(), 4)
      const object = await store.get('k')
      assert.deepEqual([object?.length, object && crc32(object)], [file.body.length, file.crc32])
      assert.equal(await isOpen(store), false)
    })
  }
}

test('put file: a store that keeps half of a part each time is told of, by the part', async (t) => {
  const { server, store, putFile } = await overS3(t, 8 * MiB)
  server.faults.push({ times: 99, kind: 'truncate', match: { operation: 'UploadPart' } })
  const message = /another part than was sent, in bytes. key=k, part=1, want=8388608, found=4194304/
  await assert.rejects(putFile(), { kind: 'corrupt', message })
  assert.equal(await isOpen(store), false)
})
