/** Checkpoints that go in parts, over the embedded S3 server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Expected } from '../../../src/checkpoint/accept.ts'
import { checkpointsPrefix, fileKey } from '../../../src/checkpoint/names.ts'
import { restoreNewest } from '../../../src/checkpoint/restore.ts'
import { saveCheckpoint } from '../../../src/checkpoint/save.ts'
import { abortUnfinishedSaves } from '../../../src/checkpoint/sweep.ts'
import type { TrainedTensor } from '../../../src/checkpoint/tensors.ts'
import { seededRandom } from '../../../src/clock.ts'
import { eachRequest } from '../../../src/store/each-request.ts'
import { retrying } from '../../../src/store/retry.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { HastyClock } from '../store/hasty-clock.ts'
import { embedded, s3At } from '../store/opening.ts'
import { expected, nameOf, now, saved, trainedAt, training, writerId } from './trained.ts'

const MiB = 2 ** 20
const sizes = { wholeBytesMax: 8 * MiB, partBytes: 8 * MiB }
/** Of a model of 18.5 MiB the moments are some 37 MiB: two tensors, each over part after part. */
const of: Expected['tensors'] = [
  { name: 'fc.weight', shape: [1000, 1024] },
  { name: 'up_proj.weight', shape: [3640, 1024] },
  { name: 'down_proj.weight', shape: [96, 1024] },
]
const large = { ...expected, tensors: of }
const optimizer = fileKey(nameOf(500), 'optimizer')

test('checkpoint: 37 MiB in parts of 8, to a store that wants them equal (B25)', async () => {
  const server = await embedded()
  const complete = { operation: 'CompleteMultipartUpload' }
  server.faults.push({ kind: 'equal-parts', match: complete, times: 9 })
  const store = s3At(server.endpoint)
  const state = trainedAt(500, { of })
  const { state: told } = await saveCheckpoint(store, state, { writer: writerId(0), now, sizes })
  const { bytes } = told.files.optimizer
  assert.ok(bytes > 36.9 * MiB && bytes < 37.1 * MiB, `${bytes / MiB} MiB`)
  // Three parts of the model, five of its moments.
  assert.equal(server.stats.requests.UploadPart, 8)
  assert.equal((await store.head(optimizer))?.crc32, told.files.optimizer.crc32)
  assert.deepEqual(await store.openMultiparts(''), [])
  const restored = await restoreNewest(store, { training, expected: large })
  assert.equal(restored?.state.progress.step, 500)
  for (const [i, tensor] of state.tensors.entries()) {
    const back: TrainedTensor | undefined = restored?.state.tensors[i]
    for (const array of ['value', 'm', 'v'] as const) {
      assert.equal(Buffer.compare(bits(tensor[array]), bits(back?.[array])), 0, tensor.name)
    }
  }
})

const bits = (floats: Float32Array<ArrayBuffer> = new Float32Array()) => Buffer.from(floats.buffer)

test('checkpoint: a store that fails in mid-upload is asked again; all arrives', async () => {
  const server = await embedded()
  const part = { operation: 'UploadPart' }
  server.faults.push(
    { kind: 'error', status: 503, code: 'SlowDown', match: part, times: 3 },
    { kind: 'reset', match: part, times: 2 },
    { kind: 'drop-answer', match: { operation: 'CompleteMultipartUpload' }, times: 1 },
    { kind: 'half-read', match: { key: 'state.json' }, times: 2 },
  )
  const clock = new HastyClock()
  const store = retrying(s3At(server.endpoint), { attempts: 8, clock, random: seededRandom(6) })
  await saveCheckpoint(store, trainedAt(500, { of }), { writer: writerId(0), now, sizes })
  assert.deepEqual(server.faults, [])
  const restored = await restoreNewest(store, { training, expected: large })
  assert.equal(restored?.state.progress.step, 500)
  assert.deepEqual(await store.openMultiparts(''), [])
})

test('checkpoint: told to stop in mid-upload, nothing half is left to pay for (B26)', async () => {
  const server = await embedded()
  server.faults.push({ kind: 'hold', match: { key: optimizer }, times: 99 })
  const store = s3At(server.endpoint)
  const stop = new AbortController()
  const options = { writer: writerId(0), now, sizes, signal: stop.signal }
  const saving = saveCheckpoint(store, trainedAt(500, { of }), options)
  const stopped = assert.rejects(saving)
  while (server.faults[0]?.times === 99) await new Promise((resolve) => setTimeout(resolve, 5))
  stop.abort(new Error('stopped'))
  server.faults.length = 0
  await stopped
  assert.deepEqual(await store.openMultiparts(''), [])
  assert.equal(await store.head(optimizer), undefined)
  assert.equal(await restoreNewest(store, { training, expected: large }), undefined)
})

test('sweep: uploads that a dead process left open go; whole checkpoints stay (B26)', async () => {
  const store = s3At((await embedded()).endpoint)
  const small = await saved(store, trainedAt(10))
  const part = Buffer.alloc(5 * MiB)
  for (const key of [optimizer, fileKey(nameOf(501), 'model')]) {
    await (await store.startMultipart(key)).putPart(1, part)
  }
  await store.put(fileKey(nameOf(500), 'model'), Buffer.from('a model'))
  const others = await store.startMultipart('dataset/big')
  await abortUnfinishedSaves(store)
  const open = await store.openMultiparts('')
  assert.deepEqual(
    open.map(({ key, id }) => [key, id]),
    [['dataset/big', others.id]],
  )
  const found = await restoreNewest(store, { training, expected })
  assert.equal(found?.checkpoint.name, small)
})

test('sweep: a store that finds uploads by their whole key only', async () => {
  const server = s3At((await embedded()).endpoint)
  await (await server.startMultipart(optimizer)).putPart(1, Buffer.alloc(5 * MiB))
  await server.put(fileKey(nameOf(500), 'model'), Buffer.from('a model'))
  const byWholeKey: ObjectStore = {
    ...eachRequest(server, (work) => work()),
    openMultiparts: async (prefix) =>
      prefix === checkpointsPrefix ? [] : await server.openMultiparts(prefix),
  }
  await abortUnfinishedSaves(byWholeKey)
  assert.deepEqual(await server.openMultiparts(''), [])
})
