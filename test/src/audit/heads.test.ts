import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askHeads, pickStored } from '../../../src/audit/heads.ts'
import { seededRandom } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { entryKey } from '../../../src/manifest/entry.ts'
import { eachRequest } from '../../../src/store/each-request.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { quarantinedEntry, storedEntry } from '../manifest/entries.ts'
import { putSamples, sampleFile, tableOf } from './samples.ts'

test('pick: so many of the stored, each once, spread over all; never more', () => {
  const random = seededRandom(1)
  const stored = Array.from({ length: 1000 }, () => storedEntry(random))
  const mixed = stored.flatMap((entry, at) =>
    at % 3 ? [entry] : [quarantinedEntry(random), entry],
  )
  const table = tableOf(mixed)
  for (let seed = 1; seed <= 50; seed++) {
    const picked = [...pickStored(table, 100, seededRandom(seed))].map(({ hash }) => hash)
    const places = picked.map((hash) => stored.findIndex((entry) => entry.hash === hash))
    assert.deepEqual(
      places.map((place) => Math.floor(place / 10)),
      Array.from({ length: 100 }, (_, at) => at),
      `seed=${seed}`,
    )
  }
  const all = [...pickStored(table, 5000, random)]
  assert.deepEqual(all, stored)
  assert.deepEqual([...pickStored(table, 0, random)], [])
  assert.deepEqual([...pickStored(tableOf([]), 5, random)], [])
})

test('heads: what the store tells is compared, at most so many are asked at once', async () => {
  const store = new MemoryStore()
  const entries = (await putSamples(store, 40)).map(({ entry }) => entry)
  const [gone, changed] = entries
  await store.remove(entryKey(gone))
  const other = sampleFile(100).bytes
  await store.put(entryKey(changed), other)
  let [open, most, told] = [0, 0, 0]
  const counted = eachRequest(store, async (work) => {
    most = Math.max(most, ++open)
    await new Promise(setImmediate)
    return await work().finally(() => open--)
  })
  const asked = () => {
    told++
  }
  const heads = await askHeads(counted, entries, { parallel: 4, asked })
  assert.deepEqual([heads.asked, heads.told, told, most], [40, 39, 40, 4])
  assert.deepEqual(
    heads.differ.map(({ key, problem }) => [key, problem.replace(/found=\d+/, 'found=…')]),
    [
      [entryKey(gone), 'is not there'],
      [entryKey(changed), `crc32: want=${changed.crc32}, found=…`],
    ],
  )
})

test('heads: a store that does not answer is no difference, and is left alone', async () => {
  const store = new MemoryStore()
  const entries = (await putSamples(store, 40)).map(({ entry }) => entry)
  let asked = 0
  const failing = eachRequest(store, async () => {
    asked++
    throw new Failure('unavailable', 'away')
  })
  const parts = { parallel: 4, asked: () => undefined }
  await assert.rejects(askHeads(failing, entries, parts), { kind: 'unavailable' })
  assert.equal(asked, 4)
})
