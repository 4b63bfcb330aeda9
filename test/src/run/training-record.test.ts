import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import {
  beginTraining,
  keepDrafterConfig,
  readTraining,
  type Sight,
} from '../../../src/run/training-record.ts'
import { eachRequest } from '../../../src/store/each-request.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { drafterConfig } from '../../support/training/cases.ts'

const record = (training: string) => ({
  training,
  draftVocab: null,
  from: null,
  settings: { seed: 0 },
})

const begin = (
  store: ObjectStore,
  training: string,
  instead?: Sight,
  conditional = true,
): Promise<boolean> => beginTraining(store, record(training), { instead, conditional })

test('training record: one is begun, and found as it was', async () => {
  const store = new MemoryStore()
  assert.equal(await readTraining(store), undefined)
  assert.equal(await begin(store, 'first'), true)
  const found = await readTraining(store)
  assert.deepEqual(found?.record, { format: 2, ...record('first') })
})

test('training record: of several that begin at one moment, one has begun', async () => {
  const store = new MemoryStore()
  const ids = ['a', 'b', 'c']
  const begun = await Promise.all(ids.map((id) => begin(store, id)))
  assert.equal(begun.filter((is) => is).length, 1)
  const first = await readTraining(store)
  assert.equal(first?.record.training, ids[begun.indexOf(true)])
  // The same of those that take the place of what they have seen.
  const later = ['d', 'e', 'f']
  const replaced = await Promise.all(later.map((id) => begin(store, id, first)))
  assert.equal(replaced.filter((is) => is).length, 1)
  assert.equal((await readTraining(store))?.record.training, later[replaced.indexOf(true)])
})

test('training record: without conditions the last put stays, and is found', async () => {
  const store = new MemoryStore()
  const first = await begin(store, 'a', undefined, false)
  assert.deepEqual([first, await begin(store, 'b', undefined, false)], [true, true])
  assert.equal((await readTraining(store))?.record.training, 'b')
})

test('training record: a store that keeps half of it, unsaid, is sent it again', async () => {
  const memory = new MemoryStore()
  const store: ObjectStore = {
    ...eachRequest(memory, (work) => work()),
    putIfAbsent: async (key, body) => {
      assert.ok(body instanceof Uint8Array)
      return await memory.putIfAbsent(key, body.subarray(0, 20))
    },
  }
  assert.equal(await begin(store, 'first'), true)
  assert.equal((await readTraining(memory))?.record.training, 'first')
})

test('training record: one that cannot be read is not taken for none', async () => {
  const store = new MemoryStore()
  await store.put('drafter/training.json', Buffer.from('{"format":1}'))
  await assert.rejects(readTraining(store), (error) => isFailure(error, 'corrupt'))
})

test('drafter/config.json: is what the drafter is now, and put only where it is not', async () => {
  const memory = new MemoryStore()
  let puts = 0
  const store: ObjectStore = {
    ...eachRequest(memory, (work) => work()),
    put: async (...of) => {
      puts += 1
      return await memory.put(...of)
    },
  }
  const drafter = drafterConfig('drafter_b8')
  await keepDrafterConfig(store, { ...drafter, blockSize: 4 })
  await keepDrafterConfig(store, drafter)
  await keepDrafterConfig(store, drafter)
  assert.equal(puts, 2)
  const kept = JSON.parse(String(await memory.get('drafter/config.json')))
  assert.equal(kept.block_size, drafter.blockSize)
})
