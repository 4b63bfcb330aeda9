import assert from 'node:assert/strict'
import { linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { FileStore } from '../../../src/store/file.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { keysOf } from './contents.ts'
import { embedded, s3At, tempFolder } from './opening.ts'

const counts = [999, 1000, 1001, 2500]
const keysFor = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `n${count}/k${String(i).padStart(6, '0')}`)

async function listsEachWhole(store: ObjectStore): Promise<void> {
  for (const count of counts) {
    assert.deepEqual(await keysOf(store.list(`n${count}/`)), keysFor(count))
  }
  const all = counts.flatMap(keysFor).sort()
  assert.deepEqual(await keysOf(store.list('')), all)
}

test('memory: 999, 1000, 1001 and 2500 keys are listed to the last', async () => {
  const store = new MemoryStore()
  for (const key of counts.flatMap(keysFor)) await store.put(key, Buffer.from('x'))
  await listsEachWhole(store)
})

test('file: 999, 1000, 1001 and 2500 keys are listed to the last', async () => {
  const root = tempFolder()
  for (const count of counts) mkdirSync(join(root, `n${count}`))
  // Links are made sooner than files.
  const [first = '', ...others] = counts.flatMap(keysFor)
  writeFileSync(join(root, first), 'x')
  for (const key of others) linkSync(join(root, first), join(root, key))
  await listsEachWhole(new FileStore(root))
})

test('s3: 999, 1000, 1001 and 2500 keys are listed to the last', async () => {
  // Thousands of puts take long: the server starts on a journal that names them already.
  const dir = tempFolder()
  const lines = counts.flatMap(keysFor).map((key) => {
    const held = { bucket: 'bucket', key, size: 1, etag: 'e', lastModified: 1, file: 'f' }
    return `${JSON.stringify({ put: held })}\n`
  })
  writeFileSync(join(dir, 'journal.jsonl'), lines.join(''))
  const server = await embedded(dir)
  await listsEachWhole(s3At(server.endpoint))
  // 1 + 1 + 2 + 3 pages of the prefixes, and 6 of all 5,500 keys.
  assert.equal(server.stats.requests.ListObjectsV2, 13)
})
