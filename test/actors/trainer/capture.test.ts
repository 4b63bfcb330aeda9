import assert from 'node:assert/strict'
import { test } from 'node:test'
import { captureOf } from '../../../actors/trainer/capture.ts'
import { Progress } from '../../../actors/trainer/progress.ts'
import { deferred } from '../../../protocol/deferred.ts'
import type { StateAsk } from '../../../protocol/trainer.ts'
import { drafterTensors } from '../../../src/models/drafter-tensors.ts'
import { FlatTensors } from '../../../src/optim/flat.ts'
import { looked, order, trainerInput } from '../../support/trainer-input.ts'

/** A trainer at step 4 whose loader answers when it is let; each read of the learner is a copy. */
function rig() {
  const input = trainerInput()
  const progress = new Progress(input)
  progress.planSteps(10)
  Object.assign(progress, { step: 4, plan: 14, epoch: 1 })
  const recorded = deferred<Uint8Array>()
  let [newest, copies]: [StateAsk | undefined, number] = [undefined, 0]
  const capture = (ask: StateAsk) => {
    newest = ask
    return captureOf(ask, {
      ...{ input, progress, isAwaited: () => newest === ask },
      data: { record: () => recorded.promise },
      learner: {
        read: async () => void copies++,
        tensors: new FlatTensors(drafterTensors(input.drafter)),
        updates: 4,
      },
    })
  }
  return { capture, progress, recorded: () => recorded.resolve(order), copies: () => copies }
}

test('capture: of several asks that waited the newest is answered, by one copy', async () => {
  const { capture, recorded, copies } = rig()
  const late = [capture({ saved: null }), capture({ saved: null })]
  const awaited = capture({ saved: null })
  recorded()
  for (const one of late) await assert.rejects(one, { kind: 'unavailable' })
  assert.equal((await awaited).kind, 'state')
  assert.equal(copies(), 1)
})

test('capture: a figure is in the next copy when the one that held it was lost', async () => {
  const { capture, progress, recorded } = rig()
  recorded()
  const saved = { training: 'a-training', step: 4, heldOutLoss: null }
  assert.equal((await capture({ saved })).kind, 'saved')
  progress.measured({ step: 4, loss: 1.5, ...looked })
  for (let lost = 0; lost < 2; lost++) {
    const captured = await capture({ saved })
    assert.ok(captured.kind === 'state')
    assert.equal(captured.state.progress.heldOutLoss, 1.5)
  }
  assert.equal((await capture({ saved: { ...saved, heldOutLoss: 1.5 } })).kind, 'saved')
})
