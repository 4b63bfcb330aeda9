import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { restoreNamed, restoreNewest } from '../../../src/checkpoint/restore.ts'
import { saveCheckpoint } from '../../../src/checkpoint/save.ts'
import { Failure } from '../../../src/failure.ts'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Body, ObjectStore, PutOptions } from '../../../src/store/store.ts'
import { elements } from '../../../src/tensor/tensor.ts'
import {
  expected,
  nameOf,
  now,
  saved,
  shapes,
  spoilt,
  trainedAt,
  training,
  writerId,
} from './trained.ts'

const newest = (store: ObjectStore) => restoreNewest(store, { training, expected })

/** Keeps the order of what is put; may refuse a key. */
class Noting extends MemoryStore {
  readonly order: string[] = []
  refuses = ''

  override async put(key: string, body: Body, options: PutOptions = {}) {
    if (this.refuses !== '' && key.includes(this.refuses)) {
      throw new Failure('unavailable', `not now. key=${key}`)
    }
    this.order.push(key)
    return await super.put(key, body, options)
  }
}

test('checkpoint: what is saved comes back bit for bit, with all that goes with it', async () => {
  const store = new MemoryStore()
  const progress = { heldOutLoss: 1.25, tau: 3.5, data: { plan: 12, order: [3, 1, 2] } }
  const state = trainedAt(40, { progress })
  const name = await saved(store, state)
  const restored = await newest(store)
  assert.equal(restored?.checkpoint.name, name)
  assert.deepEqual(restored?.state, state)
  const named = await restoreNamed(store, { name, expected })
  assert.deepEqual(named.state, state)
})

test('checkpoint: two safetensors files, and a state that tells sizes and checksums', async () => {
  const store = new Noting()
  const state = trainedAt(1200)
  await saveCheckpoint(store, state, { writer: writerId(0), now })
  const folder = `checkpoints/${nameOf(1200)}`
  const [model, optimizer, told] = ['model.safetensors', 'optimizer.safetensors', 'state.json'].map(
    (file) => `${folder}/${file}`,
  )
  assert.deepEqual(store.order, [model, optimizer, told, 'checkpoints/latest.json'])
  assert.match(folder, /^checkpoints\/00001200-/)
  const read = async (key: string) => (await store.get(key)) ?? assert.fail(key)
  const json = JSON.parse(String(await read(told)))
  for (const [file, key] of Object.entries({ model, optimizer })) {
    const bytes = await read(key)
    assert.deepEqual(json.files[file], { bytes: bytes.length, crc32: crc32(bytes) })
  }
  assert.deepEqual([json.format, json.training, json.step], [1, training, 1200])
  assert.equal(json.savedAt, new Date(now).toISOString())
  const values = readSafetensors(await read(model), model)
  assert.deepEqual(
    [...values.tensors.keys()],
    shapes.map((shape) => shape.name),
  )
  assert.equal(values.metadata.get('format'), 'pt')
  const moments = readSafetensors(await read(optimizer), optimizer)
  assert.equal(moments.tensors.size, 6)
  const m = moments.tensors.get('m.norm.weight') ?? assert.fail('no first moment')
  assert.deepEqual([...elements(m, 'F32')], [...state.tensors[2].m])
  const hint = JSON.parse(String(await read('checkpoints/latest.json')))
  assert.deepEqual([hint.name, hint.step], [nameOf(1200), 1200])
})

test('checkpoint: a step that is saved again lies beside the first; the later counts', async () => {
  const store = new MemoryStore()
  const first = await saved(store, trainedAt(30, { progress: { samples: 1 } }))
  const second = await saved(store, trainedAt(30, { progress: { samples: 2 } }))
  assert.notEqual(first, second)
  assert.equal((await newest(store))?.state.progress.samples, 2)
  assert.equal((await restoreNamed(store, { name: first, expected })).state.progress.samples, 1)
})

for (const file of ['model', 'optimizer', 'state']) {
  test(`checkpoint: a save whose ${file} could not be put leaves the one before`, async () => {
    const store = new Noting()
    const name = await saved(store, trainedAt(20))
    store.refuses = `/${file}.`
    await assert.rejects(saved(store, trainedAt(30)), { kind: 'unavailable' })
    assert.equal((await newest(store))?.checkpoint.name, name)
  })
}

test('checkpoint: a hint that cannot be written is told, and nothing depends on it', async () => {
  const store = new Noting()
  store.refuses = 'latest.json'
  const told: string[] = []
  const options = {
    writer: writerId(1),
    now,
    unhinted: ({ message }: Failure) => told.push(message),
  }
  await saveCheckpoint(store, trainedAt(10), options)
  assert.deepEqual(told, ['not now. key=checkpoints/latest.json'])
  assert.equal((await newest(store))?.checkpoint.step, 10)
})

test('checkpoint: NaN or infinity is not saved, in the place of a good one', async () => {
  const store = new Noting()
  const bad = spoilt(trainedAt(50), { name: 'norm.weight', array: 'value', by: Number.NaN })
  const worse = spoilt(bad, { name: 'fc.weight', array: 'v', by: Number.POSITIVE_INFINITY })
  await assert.rejects(saved(store, worse), {
    kind: 'invalid',
    message: /step=50, tensors=v\.fc\.weight, norm\.weight$/,
  })
  assert.deepEqual(store.order, [])
})
