import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Checkpoints } from '../../../actors/checkpointer/checkpoints.ts'
import { listCheckpoints } from '../../../src/checkpoint/list.ts'
import { fileKey } from '../../../src/checkpoint/names.ts'
import type { RetainRule } from '../../../src/checkpoint/retain.ts'
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Body, PutOptions } from '../../../src/store/store.ts'
import { expected, now, saved, trainedAt, training } from '../../src/checkpoint/trained.ts'
import { silent } from '../../support/ledger-rig.ts'

/** Refuses to put what has this in its key, or takes it and does not say so. */
class Refusing extends MemoryStore {
  refuses = 'nothing'
  losesAnswersTo = 'nothing'

  override async put(key: string, body: Body, options: PutOptions = {}) {
    if (key.includes(this.refuses)) throw new Failure('unavailable', `not now. key=${key}`)
    const said = await super.put(key, body, options)
    if (key.includes(this.losesAnswersTo)) throw new Failure('unavailable', 'the line is down')
    return said
  }
}

function rig(keep: RetainRule) {
  const store = new Refusing()
  const clock = new SimulatedClock(now)
  const random = seededRandom(3)
  const checkpoints = new Checkpoints({ store, keep, clock, random, log: silent })
  const save = async (step: number) => {
    clock.advance(1)
    const ref = await checkpoints.save(trainedAt(step))
    await checkpoints.prune(ref.training)
    return ref
  }
  const steps = async () => (await listCheckpoints(store)).map(({ step }) => step)
  const restore = (checkpoint: string | null = null) =>
    checkpoints.restore({ training, checkpoint, expected })
  return { store, checkpoints, save, steps, restore }
}

test('checkpoints: the last ones stay, and those of another training', async () => {
  const { store, save, steps, restore } = rig({ last: 2, every: null })
  await saved(store, trainedAt(1, { progress: { training: 'another' } }))
  for (const step of [10, 20, 30, 40]) await save(step)
  assert.deepEqual(await steps(), [1, 30, 40])
  assert.equal((await restore())?.from.step, 40)
})

test('checkpoints: what holds NaN or infinity is not sound', async () => {
  const { checkpoints } = rig({ last: 1, every: null })
  const state = trainedAt(10)
  assert.equal(await checkpoints.unsoundness(state), null)
  const [first] = state.tensors
  first?.v.fill(Number.POSITIVE_INFINITY, 0, 1)
  const unsound = await checkpoints.unsoundness(state)
  assert.equal(unsound?.kind, 'invalid')
  assert.match(unsound?.message ?? '', /NaN or infinity.* step=10, tensors=v\./)
})

test('checkpoints: what a failed save has sent goes with the next prune', async () => {
  const { store, checkpoints, save, steps } = rig({ last: 3, every: null })
  await save(10)
  store.refuses = 'optimizer'
  await assert.rejects(save(20), { kind: 'unavailable' })
  assert.deepEqual(await steps(), [10, 20])
  store.refuses = 'nothing'
  await save(30)
  assert.deepEqual(await steps(), [10, 30])
  await checkpoints.prune(training)
  assert.deepEqual(await steps(), [10, 30])
})

test('checkpoints: a save that failed though all of it arrived counts for nothing', async () => {
  const { store, checkpoints, save, steps } = rig({ last: 1, every: null })
  await save(10)
  store.losesAnswersTo = 'state.json'
  await assert.rejects(save(20), { kind: 'unavailable' })
  store.losesAnswersTo = 'nothing'
  await checkpoints.prune(training)
  assert.deepEqual(await steps(), [10])
})

test('checkpoints: half ones do not count, and are left to whoever knows their age', async () => {
  const { store, save, steps } = rig({ last: 1, every: null })
  await save(10)
  const half = await saved(store, trainedAt(90))
  await store.remove(fileKey(half, 'state'))
  await save(20)
  assert.deepEqual(await steps(), [20, 90])
})

test('checkpoints: one that a restore found torn does not stand for a good one', async () => {
  const { store, save, steps, restore } = rig({ last: 1, every: null })
  const good = await save(10)
  const torn = await saved(store, trainedAt(20))
  const bytes = (await store.get(fileKey(torn, 'model'))) ?? assert.fail('no model')
  bytes[bytes.length - 1] ^= 1
  await store.put(fileKey(torn, 'model'), bytes)
  assert.deepEqual((await restore())?.from, good)
  await save(15)
  assert.deepEqual(await steps(), [15, 20])
})

test('checkpoints: by name, another training’s too', async () => {
  const { store, restore } = rig({ last: 1, every: null })
  const name = await saved(store, trainedAt(7, { progress: { training: 'another' } }))
  assert.equal(await restore(), null)
  const named = await restore(name)
  assert.deepEqual([named?.from.training, named?.state.progress.step], ['another', 7])
})
