/** Which training a start goes on with, or begins: on a store in memory, with no actor. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { identityOf } from '../../../src/checkpoint/accept.ts'
import { checkpointName } from '../../../src/checkpoint/names.ts'
import { saveCheckpoint } from '../../../src/checkpoint/save.ts'
import { defaultTraining, type TrainConfig } from '../../../src/config/train-schema.ts'
import { openDataset } from '../../../src/dataset/shards.ts'
import { writeDataset } from '../../../src/dataset/write.ts'
import { dataState } from '../../../src/feed/data-state.ts'
import { OrderLog } from '../../../src/feed/order-log.ts'
import { DraftVocab } from '../../../src/models/draft-vocab.ts'
import { drafterConfigOf } from '../../../src/models/drafter-fit.ts'
import { drafterTensors } from '../../../src/models/drafter-tensors.ts'
import { openTarget } from '../../../src/models/target.ts'
import { readTraining } from '../../../src/run/training-record.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { begunTraining, type ToBegin } from '../../../supervisors/run/begun-training.ts'
import type { PreparedTraining } from '../../../supervisors/run/preflight.ts'
import { writerId } from '../../src/checkpoint/trained.ts'
import { golden } from '../../support/golden.ts'
import { scratch } from '../../support/target-run.ts'

const base = { ...defaultTraining, layers: 1, blockSize: 4, heldOut: null, epochs: 2 }

/** A run with its store, and starts of it as they are configured. */
async function laidOut(t: TestContext) {
  const path = join(await scratch(t), 'dataset')
  const row = { inputIds: Int32Array.of(1, 2, 2, 3), lossMask: new Uint8Array(4).fill(1) }
  await writeDataset(path, { rows: [row], count: 1, shards: 1 })
  const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
  const dataset = openDataset(path, { split: null, columns })
  const target = await openTarget(golden('targets', 'qwen3_tied_f32'))
  const identity: ToBegin['identity'] = {
    ...{ target: 'a-target', architecture: target.family, layers: [1] },
    ...{ hiddenSize: target.hiddenSize, dtype: 'bf16', captureFinal: false },
    ...{ quantization: 'none', truncation: 'none' },
  }
  const store = new MemoryStore()
  const told: string[] = []
  const log = {
    warn: (facts: unknown, line?: string) => told.push(`${JSON.stringify(facts)} ${line}`),
  }
  const drafterOf = (train: TrainConfig) =>
    drafterConfigOf(target.config, {
      ...{ layers: train.layers, blockSize: train.blockSize, targetLayerIds: [1] },
      ...{ slidingWindow: train.slidingWindow, draftVocabSize: train.draftVocab },
      maskTokenId: train.maskTokenId,
    })
  const starts = (
    id: string,
    change: Partial<TrainConfig>,
    how: Partial<PreparedTraining> = {},
  ) => {
    const asked = { ...base, ...change }
    const drafter = drafterOf(asked)
    const train = { ...asked, maskTokenId: drafter.maskTokenId }
    const training = {
      id,
      train,
      drafter,
      draftVocab: null,
      from: null,
      anew: false,
    }
    const run = { dataset, identity, target, training: { ...training, ...how } }
    return begunTraining(store, run, { conditional: true, log })
  }
  /** A checkpoint, of the step, at this place of two epochs of one batch each. */
  const saves = async ({ id, train, drafter, draftVocab }: PreparedTraining, step: number) => {
    const { anchorRule, blockSize, seed, shuffleWindow, tokensPerBatch } = train
    const rule = { anchorRule, blockSize, seed, shuffleWindow, tokensPerBatch }
    const order = new OrderLog({ training: id, rule, split: null })
    order.admit(new Uint8Array(16).fill(7), Uint32Array.of(4))
    order.close()
    const tensors = drafterTensors(drafter).map(({ name, shape }) => {
      const zeros = () => new Float32Array(shape.reduce((product, size) => product * size, 1))
      return { name, shape, value: zeros(), m: zeros(), v: zeros() }
    })
    const of = { fingerprint: identity.target, layers: identity.layers }
    const progress = {
      ...{ training: id, step, samples: step, tokens: step, heldOutLoss: null, tau: null },
      ...identityOf(drafter, of),
      ...{ schedule: {}, data: dataState(step, order.encode()), random: {} },
    }
    const maps = draftVocab && { maps: new DraftVocab(draftVocab, drafter.vocabSize).maps() }
    const writer = writerId(step)
    await saveCheckpoint(store, { progress, tensors, ...maps }, { writer, now: 1e12 + step })
    return checkpointName({ step, writer })
  }
  const configured = async () => JSON.parse(String(await store.get('drafter/config.json')))
  return { store, told, starts, saves, configured }
}

test('training: begun once, by whichever of two starts; the other goes on with it', async (t) => {
  const { starts } = await laidOut(t)
  const both = await Promise.all([starts('a', {}), starts('b', {})])
  assert.equal(both[0].id, both[1].id)
  assert.equal((await starts('c', {})).id, both[0].id)
})

test('training: another is begun once for each time that it is asked for', async (t) => {
  const { starts, store } = await laidOut(t)
  await starts('a', {})
  assert.equal((await starts('b', {}, { anew: true })).id, 'b')
  // The process has died and serves the same call again.
  assert.equal((await starts('b', {}, { anew: true })).id, 'b')
  assert.equal((await starts('c', {})).id, 'b')
  const rivals = [starts('d', {}, { anew: true }), starts('e', {}, { anew: true })]
  const ends = await Promise.allSettled(rivals)
  const lost = ends.filter((end) => end.status === 'rejected')
  assert.deepEqual(
    lost.map(({ reason }) => reason.kind),
    ['superseded'],
  )
  assert.match((await readTraining(store))?.record.training ?? '', /^[de]$/)
})

test('training: before its first checkpoint it may become another, with its config', async (t) => {
  const { configured, starts, told } = await laidOut(t)
  await starts('a', { blockSize: 4 })
  assert.equal((await configured()).block_size, 4)
  const other = await starts('b', { blockSize: 8, draftVocab: 2 })
  assert.deepEqual([other.id, other.draftVocab], ['b', [1, 2]])
  assert.deepEqual([(await configured()).block_size, (await configured()).draft_vocab_size], [8, 2])
  assert.match(told.join('\n'), /train\.blockSize: training=4, now=8.*another begins/)
})

test('training: with a checkpoint, identity is refused and plan is told', async (t) => {
  const { starts, saves, told } = await laidOut(t)
  await saves(await starts('a', {}), 1)
  const refused = { blockSize: 8, layers: 2, maskTokenId: 7, seed: 4, heldOut: 0.5 }
  for (const [name, value] of Object.entries(refused)) {
    await assert.rejects(starts('b', { [name]: value }), {
      kind: 'invalid',
      message: new RegExp(`train\\.${name}: training=.*, now=${value}$`),
      remedy: /train --new/,
    })
  }
  // The id that it has, said aloud.
  assert.equal((await starts('b', { maskTokenId: 319 })).id, 'a')
  assert.deepEqual(told, [])
  assert.equal((await starts('b', { lr: 1, epochs: 9 })).id, 'a')
  assert.match(told.join('\n'), /train\.lr: training=0\.0006, now=1".*holds for what follows/)
  assert.match(told.join('\n'), /train\.epochs: training=2, now=9/)
})

test('training: from a checkpoint it has that one’s drafter and vocabulary', async (t) => {
  const { configured, starts, saves, told } = await laidOut(t)
  const named = await saves(await starts('a', { draftVocab: 2 }), 1)
  await starts('b', { blockSize: 8, draftVocab: 3 }, { anew: true })
  const how = { from: named }
  for (const start of ['c', 'c']) {
    const from = await starts(start, { blockSize: 8, draftVocab: 3 }, how)
    assert.deepEqual([from.id, from.from, from.draftVocab], ['c', named, [1, 2]])
    assert.deepEqual([from.train.blockSize, from.drafter.blockSize], [4, 4])
    assert.equal((await configured()).block_size, 4)
  }
  assert.match(told.join('\n'), /train\.draftVocab: training=2, now=3.*the shape/)
  await assert.rejects(starts('d', { blockSize: 8, draftVocab: 3 }), /training=4, now=8/)
  assert.deepEqual((await starts('d', { draftVocab: 2 })).id, 'c')
})

test('training: from what is none, of another order, or at its end, is refused', async (t) => {
  const { starts, saves, store } = await laidOut(t)
  const first = await starts('a', {})
  const [midst, end] = [await saves(first, 1), await saves(first, 2)]
  const refused = async (from: string, change: Partial<TrainConfig>, message: RegExp) =>
    assert.rejects(starts('b', change, { from }), { kind: 'invalid', message })
  for (const name of ['../../run.json', '..', '', 'latest.json', `${midst}/state.json`]) {
    await refused(name, {}, new RegExp(`no such checkpoint.*found=${midst}, ${end}$`))
  }
  await refused(midst, { seed: 3 }, /train\.seed: training=0, now=3/)
  await refused(end, {}, /is finished.*step=2, train\.epochs=2/)
  await refused(midst, { epochs: 1 }, /is finished.*step=1, train\.epochs=1/)
  assert.equal((await readTraining(store))?.record.training, 'a')
  assert.equal((await starts('b', { epochs: 3 }, { from: end })).id, 'b')
})
