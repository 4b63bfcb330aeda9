import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { systemClock } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { abortUnheard, abortUploads } from '../../../src/store/open-upload.ts'
import { putFile } from '../../../src/store/put-file.ts'
import { retrying } from '../../../src/store/retry.ts'
import { scratch } from '../../support/target-run.ts'
import { embedded, s3At } from './opening.ts'

test('open uploads: those under a prefix are aborted, and named', async () => {
  const store = new MemoryStore()
  for (const key of ['dataset/a', 'dataset/b', 'other/c']) await store.startMultipart(key)
  assert.deepEqual(await abortUploads(store, 'dataset/'), ['dataset/a', 'dataset/b'])
  const left = await store.openMultiparts('')
  assert.deepEqual(
    left.map(({ key }) => key),
    ['other/c'],
  )
})

test('open uploads: where a rival may be at work, the young are left alone', async () => {
  const store = new MemoryStore()
  await store.startMultipart('dataset/a')
  assert.deepEqual(await abortUploads(store, 'dataset/', Date.now() - 60_000), [])
  assert.deepEqual(await abortUploads(store, 'dataset/', Date.now() + 60_000), ['dataset/a'])
})

test('open uploads: a right to list them that is missing is no end, an absence is', async () => {
  class Refusing extends MemoryStore {
    kind: 'invalid' | 'unavailable' = 'invalid'
    override async openMultiparts(): Promise<never> {
      throw new Failure(this.kind, 'no')
    }
  }
  const store = new Refusing()
  assert.deepEqual(await abortUploads(store, ''), [])
  store.kind = 'unavailable'
  await assert.rejects(abortUploads(store, ''), { kind: 'unavailable' })
})

test('open upload: one whose beginning was answered to nobody is open no more', async (t) => {
  const server = await embedded()
  const create = { operation: 'CreateMultipartUpload' }
  const plain = s3At(server.endpoint)
  const store = retrying(plain, { attempts: 3, clock: systemClock, random: () => 0 })
  const bytes = Buffer.alloc(6 * 2 ** 20)
  const path = join(await scratch(t), 'file')
  await writeFile(path, bytes)
  const put = (key: string) => {
    const file = { key, body: { path, offset: 0, length: bytes.length }, crc32: crc32(bytes) }
    return putFile(store, file, { sizes: { wholeBytesMax: 0, partBytes: 5 * 2 ** 20 } })
  }
  server.faults.push({ match: create, kind: 'drop-answer', times: 1 })
  assert.equal(await put('one'), 'checksum')
  assert.equal(server.stats.requests.CreateMultipartUpload, 2)
  assert.deepEqual(await plain.openMultiparts(''), [])

  // Where they may not be listed, the object is there all the same.
  const denied = { kind: 'error', status: 403, code: 'AccessDenied', times: 9 } as const
  server.faults.push(
    { match: create, kind: 'drop-answer', times: 1 },
    { match: { operation: 'ListMultipartUploads' }, ...denied },
  )
  assert.equal(await put('other'), 'checksum')
})

test('open upload: one that has a part, or is of another key, is no unheard one', async () => {
  const store = new MemoryStore()
  const unheard = await store.startMultipart('k')
  const [sent, longer] = [await store.startMultipart('k'), await store.startMultipart('k2')]
  await sent.putPart(1, Buffer.from('another’s'))
  await abortUnheard(store, 'k')
  const open = (await store.openMultiparts('')).map(({ id }) => id)
  assert.deepEqual(open.sort(), [sent.id, longer.id].sort())
  assert.ok(!open.includes(unheard.id))
})
