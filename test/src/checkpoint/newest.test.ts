/** Which checkpoint a training goes on from: the highest whole one, and never a half one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Half } from '../../../src/checkpoint/list.ts'
import { type CheckpointFile, fileKey } from '../../../src/checkpoint/names.ts'
import {
  faultOf,
  newestFirst,
  restoreNamed,
  restoreNewest,
} from '../../../src/checkpoint/restore.ts'
import { eachRequest } from '../../../src/store/each-request.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ListPage, ObjectStore } from '../../../src/store/store.ts'
import { expected, saved, trainedAt, training } from './trained.ts'

async function chosen(store: ObjectStore) {
  const half: Half[] = []
  const found = await restoreNewest(store, { training, expected, onHalf: (one) => half.push(one) })
  return { step: found?.checkpoint.step, half }
}

/** Saves the step; its folder is then named as somebody else would name it. */
async function savedAs(store: ObjectStore, step: number, folder: (name: string) => string) {
  const name = await saved(store, trainedAt(step))
  for (const file of ['model', 'optimizer', 'state'] as const) {
    const bytes = await store.get(fileKey(name, file))
    await store.remove(fileKey(name, file))
    if (bytes) await store.put(fileKey(folder(name), file), bytes)
  }
}

const unpadded = (name: string) => name.replace(/^0+/, '')

test('newest: of 500, 2500 and 10000 it is 10000, however they are padded (B46)', async () => {
  const store = new MemoryStore({ pageKeys: 2 })
  for (const step of [500, 10_000, 2500]) await savedAs(store, step, unpadded)
  assert.deepEqual(await chosen(store), { step: 10_000, half: [] })
})

test('newest: of 100000 and 0900000 it is 900000, and "handpicked" is ignored (B46)', async () => {
  const store = new MemoryStore()
  await savedAs(store, 100_000, unpadded)
  await savedAs(store, 900_000, (name) => name.replace(/^00/, '0'))
  await savedAs(store, 950_000, () => 'handpicked')
  await savedAs(store, 960_000, (name) => `${name}-copy`)
  await store.put('checkpoints/00990000', Buffer.from('a file'))
  assert.deepEqual(await chosen(store), { step: 900_000, half: [] })
  const handpicked = await restoreNamed(store, { name: 'handpicked', expected })
  assert.equal(handpicked.checkpoint.step, 950_000)
})

test('newest: of this training only', async () => {
  const store = new MemoryStore()
  await saved(store, trainedAt(100))
  await saved(store, trainedAt(200, { progress: { training: 'another' } }))
  assert.equal((await chosen(store)).step, 100)
  const others = await restoreNewest(store, { training: 'a third', expected })
  assert.equal(others, undefined)
})

test('newest: none in an empty store', async () => {
  assert.deepEqual(await chosen(new MemoryStore()), { step: undefined, half: [] })
})

type Change = (store: ObjectStore, key: (file: CheckpointFile) => string) => Promise<void>

const put = async (store: ObjectStore, key: string, change: (bytes: Buffer) => Buffer) => {
  const bytes = await store.get(key)
  if (bytes) await store.put(key, change(bytes))
}

const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length - 4)
const longer = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(4)])
const flipped = (bytes: Buffer) => {
  bytes[bytes.length - 2] ^= 1
  return bytes
}

const half: Readonly<Record<string, readonly [Change, RegExp]>> = {
  'no state': [(store, key) => store.remove(key('state')), /it has no state\.json/],
  'no model': [(store, key) => store.remove(key('model')), /model\.safetensors.*found=none/],
  'no optimizer': [(store, key) => store.remove(key('optimizer')), /optimizer.*found=none/],
  'half a state': [(store, key) => put(store, key('state'), cut), /state\.json .*cannot be read/],
  'a model that is cut': [(store, key) => put(store, key('model'), cut), /model.*want=\d+ bytes/],
  'a longer optimizer': [(store, key) => put(store, key('optimizer'), longer), /optimizer.*want=/],
  'a bit of the model': [(store, key) => put(store, key('model'), flipped), /CRC-32. file=.*model/],
  'a bit of the optimizer': [
    (store, key) => put(store, key('optimizer'), flipped),
    /CRC-32. file=.*optimizer/,
  ],
  'the state of another step': [
    async (store, key) => {
      const other = await saved(store, trainedAt(21))
      const bytes = await store.get(fileKey(other, 'state'))
      if (bytes) await store.put(key('state'), bytes)
      await store.remove(fileKey(other, 'state'))
    },
    /state\.json is of another step: want=30, found=21/,
  ],
}

for (const [name, [change, why]] of Object.entries(half)) {
  test(`half: ${name}: passed over, and refused when named by hand (B45)`, async () => {
    const store = new MemoryStore()
    await saved(store, trainedAt(10))
    await saved(store, trainedAt(20))
    const torn = await saved(store, trainedAt(30))
    await change(store, (file) => fileKey(torn, file))
    const found = await chosen(store)
    assert.equal(found.step, 20)
    const told = found.half.find((one) => one.name === torn)
    assert.match(told?.why ?? '', why)
    const named = restoreNamed(store, { name: torn, expected })
    await assert.rejects(named, { kind: 'corrupt', message: /^the checkpoint is not complete: / })
    await assert.rejects(named, { message: why })
    // Saved again later, under another id, it counts.
    const again = await saved(store, trainedAt(30))
    const restored = await restoreNewest(store, { training, expected })
    assert.equal(restored?.checkpoint.name, again)
  })
}

test('named by hand: one that is not there is refused, with those that are', async () => {
  const store = new MemoryStore()
  const name = await saved(store, trainedAt(10))
  const message = `the store has no such checkpoint. checkpoint=gone, found=${name}`
  await assert.rejects(restoreNamed(store, { name: 'gone', expected }), {
    kind: 'invalid',
    message,
  })
})

test('a checkpoint of another version is refused, not passed over', async () => {
  const store = new MemoryStore()
  await saved(store, trainedAt(10))
  const name = await saved(store, trainedAt(20))
  await put(store, fileKey(name, 'state'), () => Buffer.from('{"format":2,"step":20}'))
  const message = new RegExp(`another version. checkpoint=${name}, want=1, found=2`)
  await assert.rejects(restoreNewest(store, { training, expected }), { kind: 'invalid', message })
})

/** Lists no key of this folder. */
const listingLate = (store: ObjectStore, name: string): ObjectStore =>
  eachRequest(store, async (work) => {
    const value = await work()
    if (!isPage(value)) return value
    return { ...value, objects: value.objects.filter(({ key }) => !key.includes(name)) }
  })

const isPage = (value: unknown): value is ListPage =>
  typeof value === 'object' && value !== null && 'objects' in value

test('newest: one that the store lists late is found by the hint', async () => {
  const store = new MemoryStore()
  await saved(store, trainedAt(10))
  const name = await saved(store, trainedAt(20))
  assert.equal((await chosen(listingLate(store, name))).step, 20)
  await put(store, 'checkpoints/latest.json', () => Buffer.from('{"name": "no'))
  assert.equal((await chosen(listingLate(store, name))).step, 10)
})

test('newest: bytes that arrive damaged once are asked for again', async () => {
  const store = new MemoryStore()
  await saved(store, trainedAt(10))
  const name = await saved(store, trainedAt(20))
  let times = 0
  const line: ObjectStore = {
    ...eachRequest(store, (work) => work()),
    get: async (key, range) => {
      const bytes = await store.get(key, range)
      return bytes && key === fileKey(name, 'model') && times++ === 0 ? flipped(bytes) : bytes
    },
  }
  assert.deepEqual(await chosen(line), { step: 20, half: [] })
})

test('fault of a checkpoint: every byte is looked at', async () => {
  const store = new MemoryStore()
  const name = await saved(store, trainedAt(10))
  const first = async () => {
    for await (const checkpoint of newestFirst(store)) return checkpoint
    return assert.fail('none')
  }
  assert.equal(await faultOf(store, await first()), null)
  await put(store, fileKey(name, 'optimizer'), flipped)
  assert.match((await faultOf(store, await first())) ?? '', /CRC-32. file=.*optimizer\.safetensors/)
})
