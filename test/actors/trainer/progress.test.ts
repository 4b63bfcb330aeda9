import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TrainerInput } from '../../../actors/trainer/index.ts'
import { Progress } from '../../../actors/trainer/progress.ts'
import { defaultTraining } from '../../../src/config/train-schema.ts'
import { OrderLog } from '../../../src/feed/order-log.ts'
import { drafterConfigOf } from '../../../src/models/drafter-fit.ts'
import { openTarget } from '../../../src/models/target.ts'
import { golden } from '../../support/golden.ts'

const { config } = await openTarget(golden('targets', 'qwen3_tied_f32'))
const choice = {
  layers: 1,
  blockSize: 4,
  targetLayerIds: [1],
  slidingWindow: null,
  maskTokenId: null,
}

const inputOf = (train: Partial<TrainerInput['train']>): TrainerInput => ({
  ...{ training: 'a-training', from: null, device: 'cpu', threads: 1, work: '', paused: false },
  train: { ...defaultTraining, epochs: 4, tokensPerStep: 400, tokensPerBatch: 100, ...train },
  drafter: drafterConfigOf(config, { ...choice, draftVocabSize: null }),
  draftVocab: null,
  target: { path: '', fingerprint: 'a-target', stamp: '' },
  captured: [1],
})

const rule = { seed: 0, shuffleWindow: 1, tokensPerBatch: 100, anchorRule: '', blockSize: 4 }
const looked = { accuracy: 1, accuracyBySlot: [1], acceptanceLength: 2, samples: 1 }
const order = new OrderLog({ training: 'a-training', rule, split: null }).encode()

/** Ten batches an epoch, four a step: three steps an epoch; saved in the second one's middle. */
function saved() {
  const progress = new Progress(inputOf({}))
  assert.equal(progress.planSteps(10), false)
  assert.equal(progress.steps, 12)
  Object.assign(progress, { step: 4, plan: 14, epoch: 1 })
  return progress.toSave({ updates: 4, order })
}

test('progress: a training that goes on keeps its plan, whatever is stored by now', () => {
  const progress = new Progress(inputOf({}))
  assert.deepEqual(progress.resume(saved()).updates, 4)
  assert.equal(progress.planSteps(25), false)
  assert.deepEqual([progress.step, progress.steps, progress.plan], [4, 12, 14])
})

test('progress: with more epochs, or other steps, what is left is planned anew', () => {
  for (const [train, steps] of [
    // Four are done, of the second epoch one of three: two, and four epochs of three.
    [{ epochs: 6 }, 4 + 2 + 12],
    // Two batches a step: five an epoch; of the second, four batches are done.
    [{ tokensPerStep: 200 }, 4 + 3 + 10],
    [{ epochs: 1 }, 4],
  ] as const) {
    const progress = new Progress(inputOf(train))
    progress.resume(saved())
    assert.equal(progress.planSteps(10), true)
    assert.equal(progress.steps, steps, JSON.stringify(train))
  }
})

test('progress: what is saved is told by step and figure, not by what was copied', () => {
  const progress = new Progress(inputOf({}))
  progress.resume(saved())
  const at = { training: 'a-training', step: 4, heldOutLoss: null }
  assert.ok(progress.isIn(at))
  assert.ok(!progress.isIn({ ...at, step: 3 }))
  assert.ok(!progress.isIn({ ...at, training: 'another' }))
  // The figure comes after the step was saved: a copy for a save that failed keeps nothing.
  progress.measured({ step: 4, loss: 1.5, ...looked })
  for (let copies = 0; copies < 2; copies++) {
    assert.ok(!progress.isIn(at))
    progress.toSave({ updates: 4, order })
  }
  assert.ok(progress.isIn({ ...at, heldOutLoss: 1.5 }))
})

test('progress: a held-out loss that overflows is no figure of a checkpoint', () => {
  const progress = new Progress(inputOf({}))
  progress.resume(saved())
  progress.measured({ step: 4, loss: 1.5, ...looked })
  assert.equal(progress.toSave({ updates: 4, order }).heldOutLoss, 1.5)
  progress.measured({ step: 4, loss: Number.POSITIVE_INFINITY, ...looked })
  assert.equal(progress.toSave({ updates: 4, order }).heldOutLoss, null)
})
