import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Failure } from '../../../src/failure.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { putFile } from '../../../src/store/put-file.ts'
import type { MultipartUpload } from '../../../src/store/store.ts'
import { scratch } from '../../support/target-run.ts'

const MiB = 2 ** 20

/** What became of the parts of an upload. */
class Watched extends MemoryStore {
  readonly sizes: number[] = []
  readonly afterAbort: number[] = []
  /** The part at which the store fails; none by default. */
  failsAt = 0
  aborted = false

  override async startMultipart(key: string): Promise<MultipartUpload> {
    const upload = await super.startMultipart(key)
    return {
      ...upload,
      putPart: async (number, body, options) => {
        if (this.aborted) this.afterAbort.push(number)
        if (number === this.failsAt) throw new Failure('unavailable', 'the line is down')
        const part = await upload.putPart(number, body, options)
        this.sizes[number - 1] = part.size
        if (this.aborted) this.afterAbort.push(number)
        return part
      },
      abort: async () => {
        this.aborted = true
        await upload.abort()
      },
    }
  }
}

/** A file of zeros, and an `end` that tells its end from the rest. */
async function fileOf(t: TestContext, bytes: number) {
  const path = join(await scratch(t), 'file')
  await using file = await open(path, 'w')
  await file.truncate(bytes)
  await file.write(Buffer.from('end'), 0, 3, bytes - 3)
  return { path, offset: 0, length: bytes }
}

test('put file: one that is small goes whole, with its checksum', async (t) => {
  const store = new Watched()
  await assert.rejects(putFile(store, 'k', await fileOf(t, 1000), 1), { kind: 'corrupt' })
  assert.equal(await store.head('k'), undefined)
  assert.deepEqual(store.sizes, [])
})

test('put file: a large one goes in equal parts; orphans of its key go first', async (t) => {
  const store = new Watched()
  await store.startMultipart('k')
  const other = await store.startMultipart('k2')
  const body = await fileOf(t, 65 * MiB + 7)
  await putFile(store, 'k', body, 0)
  assert.deepEqual(store.sizes, [16 * MiB, 16 * MiB, 16 * MiB, 16 * MiB, MiB + 7])
  assert.equal((await store.head('k'))?.size, body.length)
  const end = await store.get('k', { start: body.length - 3, end: body.length })
  assert.equal(String(end), 'end')
  const open = await store.openMultiparts('k')
  assert.deepEqual(
    open.map(({ id }) => id),
    [other.id],
  )
})

test('put file: where a part fails, no part comes after the abort', async (t) => {
  const store = new Watched()
  store.failsAt = 2
  const putting = putFile(store, 'k', await fileOf(t, 100 * MiB), 0)
  await assert.rejects(putting, { message: 'the line is down' })
  assert.ok(store.aborted)
  assert.deepEqual(store.afterAbort, [])
  assert.deepEqual(await store.openMultiparts(''), [])
  assert.equal(await store.head('k'), undefined)
})
