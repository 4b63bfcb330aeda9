import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkNewest } from '../../../src/audit/newest-checkpoint.ts'
import { fileKey } from '../../../src/checkpoint/names.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectInfo } from '../../../src/store/store.ts'
import { saved, trainedAt } from '../checkpoint/trained.ts'

/** Tells no checksums, as a folder does. */
class Silent extends MemoryStore {
  override async head(key: string): Promise<ObjectInfo | undefined> {
    const info = await super.head(key)
    return info && { key, size: info.size, lastModified: info.lastModified }
  }
}

async function flip(store: MemoryStore, key: string): Promise<void> {
  const bytes = (await store.get(key)) ?? assert.fail(key)
  bytes[bytes.length - 1] ^= 1
  await store.put(key, bytes)
}

test('newest checkpoint: none', async () => {
  assert.equal(await checkNewest(new MemoryStore(), { deep: true }), null)
})

test('newest checkpoint: of the training that was saved last; half ones are counted', async () => {
  const store = new MemoryStore()
  await saved(store, trainedAt(900, { progress: { training: 'an earlier one' } }))
  const name = await saved(store, trainedAt(20))
  const half = await saved(store, trainedAt(30))
  await store.remove(fileKey(half, 'state'))
  const found = { name, step: 20, problem: null, half: 1 }
  const by = 'the checksums that the store tells'
  assert.deepEqual(await checkNewest(store, { deep: false }), { ...found, by })
  assert.deepEqual(await checkNewest(store, { deep: true }), { ...found, by: 'every byte' })
})

test('newest checkpoint: other bytes of the same size: by checksum, by reading', async () => {
  for (const store of [new MemoryStore(), new Silent()]) {
    const name = await saved(store, trainedAt(20))
    await flip(store, fileKey(name, 'optimizer'))
    const shallow = await checkNewest(store, { deep: false })
    if (store instanceof Silent) assert.deepEqual([shallow?.by, shallow?.problem], ['none', null])
    else assert.match(shallow?.problem ?? '', /^optimizer\.safetensors: crc32: want=\d+, found/)
    const deep = await checkNewest(store, { deep: true })
    assert.match(deep?.problem ?? '', /another CRC-32. file=.*optimizer\.safetensors/)
  }
})
