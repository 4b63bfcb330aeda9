import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Progress } from '../../../actors/trainer/progress.ts'
import { looked, order, trainerInput } from '../../support/trainer-input.ts'

/** Ten batches an epoch, four a step: three steps an epoch; saved in the second one's middle. */
function saved() {
  const progress = new Progress(trainerInput())
  assert.equal(progress.planSteps(10), false)
  assert.equal(progress.steps, 12)
  Object.assign(progress, { step: 4, plan: 14, epoch: 1 })
  return progress.toSave({ updates: 4, order })
}

test('progress: a training that goes on keeps its plan, whatever is stored by now', () => {
  const progress = new Progress(trainerInput())
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
    const progress = new Progress(trainerInput(train))
    progress.resume(saved())
    assert.equal(progress.planSteps(10), true)
    assert.equal(progress.steps, steps, JSON.stringify(train))
  }
})

test('progress: what is saved is told by step and figure, not by what was copied', () => {
  const progress = new Progress(trainerInput())
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
  const progress = new Progress(trainerInput())
  progress.resume(saved())
  progress.measured({ step: 4, loss: 1.5, ...looked })
  assert.equal(progress.toSave({ updates: 4, order }).heldOutLoss, 1.5)
  progress.measured({ step: 4, loss: Number.POSITIVE_INFINITY, ...looked })
  assert.equal(progress.toSave({ updates: 4, order }).heldOutLoss, null)
})
