import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FlatTensors } from '../../../src/optim/flat.ts'
import { StepJudge } from '../../../src/optim/judge.ts'

/** Without clipping, where some thousands of steps' bounds together pass the end of float32. */
const settings = {
  betas: [0.9, 0.95],
  epsilon: 1e-16,
  weightDecay: 0,
  clip: null,
  decayExclude: [],
} as const
const shapes = [{ name: 'a', shape: [4] }]
const step = { loss: 1, gradientNorm: 4e18, squares: [16e36], lr: 1, count: 1000 }

test('judge: after bounds that only grew, a step is judged as by one who has just resumed', () => {
  const flat = new FlatTensors(shapes)
  flat.view('parameters', 'a').fill(1)
  const undisturbed = new StepJudge(flat, settings)
  const onDevice = new StepJudge(flat, settings, 'onDevice')
  let skipped = 0
  for (let i = 0; i < 5000; i++) {
    assert.equal(undisturbed.judge(step).state, 'applied')
    if (onDevice.judge(step).state === 'skipped') skipped++
  }
  assert.equal(new StepJudge(flat, settings).judge(step).state, 'applied')
  assert.ok(skipped > 0, 'the bounds alone would have skipped some')
})

test('judge: a step that would take parameters out of float32 is skipped, and again', () => {
  const flat = new FlatTensors(shapes)
  const judge = new StepJudge(flat, settings)
  assert.equal(judge.judge(step).state, 'applied')
  flat.view('parameters', 'a').fill(1e38)
  judge.written()
  assert.equal(judge.judge(step).state, 'skipped')
  assert.equal(judge.judge(step).state, 'skipped')
})
