import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findGarbage, type GarbageRule } from '../../../src/audit/garbage.ts'
import { fileKey } from '../../../src/checkpoint/names.ts'
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { entryKey } from '../../../src/manifest/entry.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { newWriterId } from '../../../src/manifest/names.ts'
import { eachRequest } from '../../../src/store/each-request.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { saved, trainedAt } from '../checkpoint/trained.ts'
import { aged, now } from './aged.ts'
import { putSamples } from './samples.ts'

const random = seededRandom(11)
const day = 86_400_000
/** What is older than a day. */
const rule: GarbageRule = { before: now - day, graceMs: day, listed: () => undefined }

async function written(store: ObjectStore, count: number, times = 1) {
  const clock = new SimulatedClock(now)
  const manifest = openManifest(store, { writer: newWriterId(clock, random), clock, random })
  await manifest.replay()
  const files = await putSamples(store, count)
  for (let i = 0; i < times; i++) await manifest.append(files.map(({ entry }) => entry))
  return { manifest, files }
}

test('garbage: unnamed objects and what probes left, once old; nothing that is named', async () => {
  const memory = new MemoryStore({ pageKeys: 2 })
  const young = ['hidden-states/young', 'probe/young']
  const store = aged(memory, (key) => (young.includes(key) ? day - 1 : day + 1))
  const { manifest } = await written(store, 5)
  const others = ['run.json', 'config.yaml', 'dataset/index.json', 'manifest/lock.json', 'probes']
  const useless = ['hidden-states/old', 'probe/old']
  for (const key of [...others, ...useless, ...young]) await memory.put(key, Buffer.from(key))
  const found = await findGarbage(store, manifest, rule)
  assert.deepEqual(found.samples, [{ key: 'hidden-states/old', size: 17 }])
  assert.deepEqual(found.probes, [{ key: 'probe/old', size: 9 }])
  assert.deepEqual([found.manifest, found.uploads, found.left], [[], [], 2])
})

test('garbage: half checkpoints, once every file of theirs is old; whole ones stay', async () => {
  const memory = new MemoryStore()
  const whole = await saved(memory, trainedAt(10))
  const torn = await saved(memory, trainedAt(20))
  const cut = await saved(memory, trainedAt(30))
  const fresh = await saved(memory, trainedAt(40))
  await memory.remove(fileKey(torn, 'optimizer'))
  for (const name of [cut, fresh]) await memory.remove(fileKey(name, 'state'))
  const later = await saved(memory, trainedAt(50))
  await memory.put(fileKey(later, 'state'), Buffer.from('{"format":2}'))
  await memory.put('checkpoints/handpicked/state.json', Buffer.from('a copy'))
  const store = aged(memory, (key) => (key === fileKey(fresh, 'model') ? day - 1 : day + 1))
  const { manifest } = await written(store, 1)
  const { checkpoints, left } = await findGarbage(store, manifest, rule)
  assert.deepEqual(
    checkpoints.map(({ key }) => key),
    [
      fileKey(torn, 'model'),
      fileKey(torn, 'state'),
      fileKey(cut, 'model'),
      fileKey(cut, 'optimizer'),
    ],
  )
  assert.equal(left, 2)
  assert.ok(whole)
})

test('garbage: files that a settled snapshot covers, as compaction has it', async () => {
  const memory = new MemoryStore()
  const store = aged(memory, () => day + 1)
  const { manifest } = await written(store, 3, 4)
  assert.deepEqual((await findGarbage(store, manifest, rule)).manifest, [])
  await manifest.compact({ graceMs: 10 * day })
  const { manifest: files } = await findGarbage(store, manifest, rule)
  assert.equal(files.length, 4)
  const before = await keysOf(memory)
  await manifest.compact({ graceMs: rule.graceMs })
  const after = await keysOf(memory)
  assert.deepEqual(
    before.filter((key) => !after.includes(key)),
    files.map(({ key }) => key),
  )
})

test('garbage: uploads that began long ago; one whose age is not told stays', async () => {
  const memory = new MemoryStore()
  const { manifest } = await written(memory, 1)
  const at = (startedAt: number | undefined) => ({
    key: `dataset/${startedAt}`,
    ...(startedAt !== undefined && { startedAt }),
  })
  const upload = await memory.startMultipart('dataset/x')
  const open = [at(rule.before - 1), at(rule.before), at(undefined)]
  const store: ObjectStore = {
    ...eachRequest(memory, (work) => work()),
    openMultiparts: async () => open.map((one) => ({ ...unaged(upload), ...one })),
  }
  const found = await findGarbage(store, manifest, rule)
  assert.deepEqual(
    found.uploads.map(({ key }) => key),
    [open[0].key],
  )
  assert.equal(found.left, 2)
})

test('garbage: where the store is a whole bucket, the uploads of others stay', async () => {
  const memory = new MemoryStore()
  const { manifest } = await written(memory, 1)
  const own = ['dataset/a', 'hidden-states/b', 'manifest/snapshots/c', 'checkpoints/d', 'probe/e']
  for (const key of [...own, 'backups/database', 'datasets/other']) await memory.startMultipart(key)
  const found = await findGarbage(memory, manifest, { ...rule, before: Date.now() + day })
  assert.deepEqual(new Set(found.uploads.map(({ key }) => key)), new Set(own))
  assert.equal(found.left, 0)
})

test('garbage: where uploads may not be listed, all else is found', async () => {
  const memory = new MemoryStore()
  const { manifest } = await written(memory, 1)
  await memory.put('probe/old', Buffer.from('x'))
  const store: ObjectStore = {
    ...aged(memory, () => day + 1),
    openMultiparts: () => Promise.reject(new Failure('invalid', 'may not be listed')),
  }
  const found = await findGarbage(store, manifest, rule)
  assert.deepEqual([found.probes.length, found.uploads], [1, []])
})

test('garbage: a store whose manifest names nothing is left as it is', async () => {
  const memory = new MemoryStore()
  const store = aged(memory, () => 2 * day)
  const [{ entry }] = await putSamples(store, 3)
  const manifest = openManifest(store, { writer: newWriterId(new SimulatedClock(now), random) })
  await manifest.replay()
  await assert.rejects(findGarbage(store, manifest, rule), {
    kind: 'invalid',
    message: /names no sample.*objects=3/,
    remedy: /Restore what was under manifest/,
  })
  assert.ok(await memory.head(entryKey(entry)))
})

async function keysOf(store: ObjectStore): Promise<string[]> {
  const keys = []
  for await (const { key } of store.list('')) keys.push(key)
  return keys
}

/** An upload as a store gives it that does not tell when it began. */
const unaged = <T extends { readonly startedAt?: number }>(upload: T): Omit<T, 'startedAt'> => {
  const { startedAt: _, ...rest } = upload
  return rest
}
