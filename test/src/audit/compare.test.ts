import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askForMissing, compareListing } from '../../../src/audit/compare.ts'
import { seededRandom } from '../../../src/clock.ts'
import { entryKey } from '../../../src/manifest/entry.ts'
import { sampleKey } from '../../../src/manifest/key.ts'
import type { EntryTable } from '../../../src/manifest/table.ts'
import { eachRequest } from '../../../src/store/each-request.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { lostEntry, quarantinedEntry, storedEntry } from '../manifest/entries.ts'
import { putSamples, tableOf } from './samples.ts'

async function compared(store: MemoryStore, table: EntryTable) {
  const unnamed: string[] = []
  let listed = 0
  const differ = await compareListing(store, table, {
    unnamed: ({ key }) => unnamed.push(key),
    listed: () => {
      listed++
    },
  })
  return { differ: differ.map(({ key, problem }) => [key, problem]), unnamed, listed }
}

test('compare: over several pages, what is missing, short or long, and nothing else', async () => {
  const store = new MemoryStore({ pageKeys: 3 })
  const files = await putSamples(store, 20)
  const entries = files.map(({ entry }) => entry)
  const table = tableOf(entries)
  assert.deepEqual(await compared(store, table), { differ: [], unnamed: [], listed: 20 })

  const [missing, short, long] = entries.map(entryKey)
  await store.remove(missing)
  await store.put(short, files[1].bytes.subarray(1))
  await store.put(long, Buffer.concat([files[2].bytes, Buffer.of(0)]))
  const { differ, unnamed } = await compared(store, table)
  assert.deepEqual(unnamed, [])
  assert.deepEqual(
    new Set(differ.map((one) => one.join(' '))),
    new Set([
      `${missing} is not there`,
      `${short} size: want=${entries[1].length}, found=${entries[1].length - 1}`,
      `${long} size: want=${entries[2].length}, found=${entries[2].length + 1}`,
    ]),
  )
})

test('compare: other bits, and objects of what is quarantined or lost, are unnamed', async () => {
  const random = seededRandom(5)
  const store = new MemoryStore()
  const [{ entry }] = await putSamples(store, 1)
  const failed = quarantinedEntry(random)
  const lost = lostEntry(random)
  const table = tableOf([entry, failed, lost])
  const keys = [
    sampleKey(entry.hash, entry.crc32 ^ 1),
    sampleKey(failed.hash, 1),
    sampleKey(lost.hash, 1),
    'hidden-states/none-of-ours',
  ]
  for (const key of keys) await store.put(key, Buffer.from('x'))
  const { differ, unnamed } = await compared(store, table)
  assert.deepEqual(differ, [])
  assert.deepEqual(new Set(unnamed), new Set(keys))
})

test('compare: an object that holds several samples is as long as its last one needs', async () => {
  const random = seededRandom(6)
  const store = new MemoryStore()
  const key = 'hidden-states/packs/7'
  const first = storedEntry(random, { key, offset: 0, length: 10 })
  const second = storedEntry(random, { key, offset: 10, length: 20 })
  const other = storedEntry(random, { key: 'hidden-states/packs/8', offset: 5, length: 5 })
  await store.put(key, Buffer.alloc(30))
  const table = tableOf([first, second, other])
  assert.deepEqual((await compared(store, table)).differ, [[other.key, 'is not there']])
  await store.put(key, Buffer.alloc(29))
  await store.put('hidden-states/packs/8', Buffer.alloc(10))
  assert.deepEqual((await compared(store, table)).differ, [[key, 'size: want=30, found=29']])
})

test('compare: what a listing left out is asked for by name before it is lost', async () => {
  const store = new MemoryStore()
  const files = await putSamples(store, 6)
  const table = tableOf(files.map(({ entry }) => entry))
  const [lost, hidden, short] = files.map(({ entry }) => entryKey(entry))
  await store.remove(lost)
  await store.put(short, files[2].bytes.subarray(1))
  const unlisted = [hidden, short]
  const cut: ObjectStore = {
    ...eachRequest(store, (work) => work()),
    list: async function* (prefix) {
      for await (const one of store.list(prefix)) if (!unlisted.includes(one.key)) yield one
    },
  }
  const hooks = { unnamed: () => undefined, listed: () => undefined }
  const differ = await compareListing(cut, table, hooks)
  assert.deepEqual(new Set(differ.map(({ key }) => key)), new Set([lost, hidden, short]))
  const still = await askForMissing(cut, table, { differ, parallel: 2 })
  const want = files[2].entry.length
  assert.deepEqual(
    new Set(still.map(({ key, problem }) => `${key} ${problem}`)),
    new Set([`${lost} is not there`, `${short} size: want=${want}, found=${want - 1}`]),
  )
})
