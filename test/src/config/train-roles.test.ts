/** What a change of each setting of a training means: said by a table, and by nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settingChanges, settingsOf, trainRoles } from '../../../src/config/train-roles.ts'
import { defaultTraining, type TrainConfig } from '../../../src/config/train-schema.ts'

/** Of each setting, a value that is not its default. */
const others: { readonly [Name in keyof TrainConfig]: TrainConfig[Name] } = {
  mode: 'online',
  devices: ['webgpu'],
  isolation: 'process',
  epochs: 7,
  seed: 1,
  layers: 6,
  blockSize: 8,
  slidingWindow: 64,
  draftVocab: 1000,
  maskTokenId: 5,
  anchors: 8,
  anchorRule: 'whole-block',
  gamma: null,
  normalize: 'batch',
  distill: { weight: 0.5, temperature: 1 },
  lr: 1e-3,
  schedule: 'constant',
  warmup: 0.1,
  decayShare: 0.2,
  minLr: 1e-5,
  warmupFrom: 'zero',
  weightDecay: 0.1,
  decayExclude: ['norm.weight'],
  betas: [0.9, 0.95],
  epsilon: 1e-6,
  clip: null,
  skipsMax: 2,
  recompute: true,
  tokensPerStep: 1024,
  tokensPerBatch: 512,
  samplesMin: 5,
  heldOut: null,
  heldOutEvery: 7,
  heldOutSamples: 9,
  shuffleWindow: 10,
  queueBytes: 1,
  keepHiddenStates: true,
  checkpointMinutes: 1,
  keep: { last: 1, every: null },
}

test('train: each setting is told as its role says when it changes, with both values', () => {
  const began = settingsOf(defaultTraining)
  for (const [name, role] of Object.entries(trainRoles)) {
    const value: unknown = new Map<string, unknown>(Object.entries(others)).get(name)
    const now = settingsOf({ ...defaultTraining, [name]: value })
    const was = JSON.stringify(new Map<string, unknown>(Object.entries(defaultTraining)).get(name))
    const line = `train.${name}: training=${was}, now=${JSON.stringify(value)}`
    for (const asked of ['identity', 'plan'] as const) {
      assert.deepEqual(settingChanges(asked, began, now), role === asked ? [line] : [], name)
    }
  }
})

test('train: what a training was begun without is not compared; equal values are no change', () => {
  const { seed: _, ...older } = settingsOf(defaultTraining)
  assert.deepEqual(
    settingChanges('identity', older, settingsOf({ ...defaultTraining, seed: 1 })),
    [],
  )
  const kept = JSON.parse(JSON.stringify(settingsOf(defaultTraining)))
  assert.deepEqual(settingChanges('plan', kept, settingsOf(defaultTraining)), [])
})
