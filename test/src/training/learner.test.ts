import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { isFailure } from '../../../src/failure.ts'
import { DraftVocab } from '../../../src/models/draft-vocab.ts'
import type { DrafterConfig } from '../../../src/models/drafter-config.ts'
import { initialDrafter } from '../../../src/models/drafter-tensors.ts'
import { accuracy } from '../../../src/training/acceptance.ts'
import {
  Learner,
  type LearnerParts,
  type LearningBatch,
  type LearningOptions,
  type Learnt,
} from '../../../src/training/learner.ts'
import { countingBatch, tinyDrafter } from '../../support/training/tiny-learner.ts'

const drafter: DrafterConfig = {
  ...tinyDrafter,
  layers: 2,
  layerTypes: ['full_attention', 'full_attention'],
}

const random = seededRandom(5)
const floats = (count: number) => Float32Array.from({ length: count }, () => random() - 0.5)
const frozen = new Map([['model.embed_tokens.weight', floats(40 * 32)]])

const batchOf = (plan: number, starts: readonly number[]): LearningBatch =>
  countingBatch(plan, starts, 'f32')

function learner(
  options: Partial<LearningOptions> = {},
  change: Partial<LearnerParts> = {},
): Learner {
  const made = new Learner({
    drafter,
    tiedEmbeddings: true,
    frozen,
    device: 'cpu',
    threads: 1,
    options: {
      seed: 3,
      anchors: 8,
      anchorRule: 'next-supervised',
      gamma: 7,
      normalize: 'step',
      optimizer: { betas: [0.9, 0.999], epsilon: 1e-8, weightDecay: 0, clip: 1, decayExclude: [] },
      chunkBytes: 4096,
      recompute: false,
      distillation: null,
      ...options,
    },
    ...change,
  })
  made.tensors.fill('parameters', initialDrafter(drafter, 1))
  return made
}

const stepAt = (plan: number) => [batchOf(plan, [plan % 39, 7]), batchOf(plan + 1, [20])]
const weights = ({ tensors }: Learner) =>
  tensors.places.map((place) => Float32Array.from(place.view('parameters')))

async function judged(pupil: Learner, batches: Parameters<Learner['judge']>[0]): Promise<Learnt> {
  const found = await pupil.judge(batches)
  assert.ok(found, 'nothing is supervised')
  return found
}

test('learner: learns what can be foretold, block by block', async () => {
  const pupil = learner()
  const before = await judged(pupil, stepAt(1000))
  for (let step = 0; step < 60; step++) await pupil.step(stepAt(2 * step), 5e-3)
  const after = await judged(pupil, stepAt(1000))
  assert.ok(after.loss < before.loss / 4, `${before.loss} → ${after.loss}`)
  assert.equal(pupil.updates, 60)
  await pupil.release()
})

test('learner: what is judged changes nothing, and is what a step on it begins from', async () => {
  const pupil = learner()
  const before = weights(pupil)
  const found = await judged(pupil, stepAt(4))
  assert.deepEqual(weights(pupil), before)
  const learnt = await pupil.step(stepAt(4), 1e-3)
  assert.deepEqual(learnt?.acceptance, found.acceptance)
  assert.ok(learnt && Math.abs(learnt.loss - found.loss) < 1e-6)
  await pupil.release()
})

test('learner: batches that come one by one are judged as together', async () => {
  const pupil = learner()
  const together = await judged(pupil, stepAt(4))
  async function* oneByOne() {
    yield* stepAt(4)
  }
  assert.deepEqual(await judged(pupil, oneByOne()), together)
  await pupil.release()
})

test('learner: where nothing is supervised there is nothing to learn, and no error', async () => {
  const pupil = learner()
  const before = weights(pupil)
  const silent = stepAt(4).map((batch) => ({
    ...batch,
    lossMask: new Uint8Array(batch.lossMask.length),
  }))
  assert.equal(await pupil.step(silent, 1e-3), undefined)
  assert.equal(await pupil.judge(silent), undefined)
  assert.deepEqual([weights(pupil), pupil.updates], [before, 0])
  await pupil.release()
})

test('learner: with moments and count taken over, another goes on bit for bit', async () => {
  const [straight, first, second] = [learner(), learner(), learner()]
  for (let step = 0; step < 6; step++) await straight.step(stepAt(2 * step), 1e-3)
  for (let step = 0; step < 3; step++) await first.step(stepAt(2 * step), 1e-3)
  for (const region of ['parameters', 'firstMoments', 'secondMoments'] as const) {
    const taken = first.tensors.places.map(({ name, view }) => [name, view(region)] as const)
    second.tensors.fill(region, new Map(taken))
  }
  second.updates = first.updates
  for (let step = 3; step < 6; step++) await second.step(stepAt(2 * step), 1e-3)
  assert.deepEqual(weights(second), weights(straight))
  for (const pupil of [straight, first, second]) await pupil.release()
})

test('learner: layers that are computed again give the same gradients', async () => {
  const [kept, again] = [learner(), learner({ recompute: true })]
  for (const pupil of [kept, again]) await pupil.step(stepAt(0), 1e-3)
  for (const { name, view } of kept.tensors.places) {
    const [want, found] = [view('gradients'), again.tensors.view('gradients', name)]
    const off = Math.hypot(...want.map((value, i) => value - found[i]))
    assert.ok(off <= 1e-5 * Math.hypot(...want), `${name}: off by ${off}`)
  }
  for (const pupil of [kept, again]) await pupil.release()
})

test('learner: a step whose loss is no number changes nothing', async () => {
  const pupil = learner()
  const before = weights(pupil)
  const bad = batchOf(0, [1])
  const hidden = Float32Array.from(bad.hidden)
  hidden[0] = Number.NaN
  const learnt = await pupil.step([{ ...bad, hidden }], 1e-3)
  assert.equal(learnt?.state, 'skipped')
  assert.deepEqual([weights(pupil), pupil.updates], [before, 0])
  await pupil.release()
})

test('learner: learns from the target’s own distribution where a batch holds it', async () => {
  const pupil = learner({ distillation: { weight: 1, temperature: 2 } })
  const table = frozen.get('model.embed_tokens.weight') ?? new Float32Array()
  // A target that is sure of the next token: its last state points where that token's row does.
  const taught = (batch: LearningBatch): LearningBatch => {
    const rows = Array.from(batch.tokenIds, (id) => (Number(id) + 1) % 39)
    const final = rows.flatMap((id) => Array.from(table.subarray(id * 32, (id + 1) * 32)))
    return { ...batch, final: Float32Array.from(final, (x) => 4 * x) }
  }
  const before = await judged(pupil, stepAt(1000).map(taught))
  for (let step = 0; step < 60; step++) await pupil.step(stepAt(2 * step).map(taught), 5e-3)
  const after = await judged(pupil, stepAt(1000).map(taught))
  assert.ok(after.loss < before.loss / 2, `${before.loss} → ${after.loss}`)
  await assert.rejects(
    pupil.step(stepAt(0), 1e-3),
    (error) => isFailure(error, 'invalid') && /captureFinal/.test(error.remedy ?? ''),
  )
  await pupil.release()
})

test('learner: drafts from part of the vocabulary, where the rest is never right', async () => {
  const draftVocab = new DraftVocab(
    Array.from({ length: 30 }, (_, id) => id),
    40,
  )
  const part = { drafter: { ...drafter, draftVocabSize: 30 }, draftVocab }
  const pupil = learner({}, part)
  for (let step = 0; step < 60; step++) await pupil.step(stepAt(2 * step), 5e-3)
  const { acceptance } = await judged(pupil, stepAt(1000))
  const right = accuracy(acceptance)
  assert.ok(right > 0.5 && right < 0.95, `accuracy ${right}`)
  await pupil.release()
  assert.throws(
    () => learner({}, { ...part, drafter }),
    (error) => isFailure(error, 'invalid') && error.message.includes('want=null, found=30'),
  )
})
