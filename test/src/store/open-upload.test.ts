import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../../src/failure.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { abortUploads } from '../../../src/store/open-upload.ts'

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
