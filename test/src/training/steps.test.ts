/** Graph, session and optimizer together: three steps against PyTorch's, in test/golden/dflash. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { drafterTensors } from '../../../src/models/drafter-tensors.ts'
import { frozenNames } from '../../../src/models/frozen.ts'
import { Adamw, type AdamwSettings } from '../../../src/optim/adamw.ts'
import { FlatTensors, type Region } from '../../../src/optim/flat.ts'
import type { Feed } from '../../../src/session/feed.ts'
import { openTrainingSession } from '../../../src/session/training-session.ts'
import { layBlocks, normalizeWeights } from '../../../src/training/blocks.ts'
import { gradientName, lossGraph } from '../../../src/training/loss-graph.ts'
import { goldenJson } from '../../support/golden.ts'
import {
  drafterOf,
  floatsOf,
  goldenTensors,
  type TrainingCase,
  trainingCase,
} from '../../support/training/cases.ts'
import { goldenFrozen } from '../../support/training/frozen.ts'

const runSchema = z.object({
  hyper: z.object({
    lr: z.number(),
    betas: z.tuple([z.number(), z.number()]),
    eps: z.number(),
    weight_decay: z.number(),
    max_grad_norm: z.number(),
  }),
  log: z.array(
    z.object({
      loss_before: z.number(),
      grad_norm_before_clip: z.number(),
      clip_coefficient: z.number(),
    }),
  ),
})

const floats = (shape: readonly number[], data: Float32Array): Feed => {
  return { dtype: 'F32', shape, data }
}

/** The same batch and anchors each step. */
async function openSteps(t: TestContext, at: TrainingCase, settings: AdamwSettings) {
  const { config, batch, blocks, drawn, hidden, expected } = at
  const { rows, tokens } = batch.shape
  const { blockSize } = config
  const tensors = drafterTensors(config)
  const flat = new FlatTensors(tensors)
  flat.fill('parameters', new Map(Object.entries(drafterOf(at))))
  const laying = { blocks, blockSize, gamma: expected.gamma, draftVocab: null }
  const laid = layBlocks(batch, drawn, laying)
  normalizeWeights([laid], 'step')
  const graph = lossGraph(config, {
    shape: { rows, tokens, blocks },
    dtype: 'f32',
    tiedEmbeddings: true,
    frozen: 'inputs',
    chunkBytes: 2 ** 20,
    recompute: true,
    learns: true,
    distillation: null,
  })
  const session = await openTrainingSession(graph, { device: 'cpu', threads: 1 })
  t.after(() => session.release())
  const inRegion = (region: Region, nameOf: (name: string) => string) =>
    tensors.map(({ name, shape }) => [nameOf(name), floats(shape, flat.view(region, name))])
  const { embedding } = frozenNames(true)
  const inputs = {
    ...Object.fromEntries(inRegion('parameters', (name) => name)),
    [embedding]: floats([config.vocabSize, config.hiddenSize], goldenFrozen()[embedding]),
    hidden: floats([rows, tokens, hidden.length / (rows * tokens)], hidden),
    anchors: { dtype: 'I64', shape: [rows, blocks], data: laid.anchors },
    labels: { dtype: 'I64', shape: [rows, blocks, blockSize], data: laid.labels },
    weights: floats([rows, blocks, blockSize], laid.weights),
  }
  const bySlot = [rows, blocks, blockSize - 1]
  const slots = () => floats(bySlot, new Float32Array(bySlot.reduce((a, b) => a * b)))
  const loss = new Float32Array(1)
  const outputs = {
    ...Object.fromEntries(inRegion('gradients', gradientName)),
    ...{ loss: floats([], loss), cross_entropy: slots(), correct: slots() },
  }
  const adamw = new Adamw(flat, settings)
  const step = async (lr: number) => {
    await session.run(inputs, outputs)
    return { loss: loss[0], ...adamw.step({ lr, loss: loss[0] }) }
  }
  return { flat, step }
}

/** Elements may differ where a gradient is near zero: the reference's README says how far. */
function assertTensors(flat: FlatTensors, region: Region, want: ReadonlyMap<string, Float32Array>) {
  const gaps = [...want].flatMap(([name, values]) => {
    const found = flat.view(region, name)
    assert.equal(found.length, values.length, name)
    return Array.from(values, (value, i) => Math.abs(value - found[i]))
  })
  const worst = gaps.reduce((a, b) => Math.max(a, b))
  const mean = gaps.reduce((a, b) => a + b) / gaps.length
  assert.ok(worst < 3e-5, `${region} off by ${worst}`)
  assert.ok(mean < 1e-8, `${region} off by ${mean} on average`)
}

function goldenMap(file: string, prefix = ''): Map<string, Float32Array> {
  const found = goldenTensors(file)
  const names = [...found.tensors.keys()].filter((name) => name.startsWith(prefix))
  return new Map(names.map((name) => [name.slice(prefix.length), floatsOf(found, name)]))
}

for (const [run, files] of [
  ['adamw_trainer', ['adamw_trainer_step1', undefined, 'adamw_trainer_step3']],
  ['adamw_b95', [undefined, undefined, 'adamw_b95_step3']],
] as const) {
  test(`training steps: ${run} gives PyTorch's parameters after each`, async (t) => {
    const all = z.record(z.string(), z.unknown()).parse(goldenJson('dflash', 'expected.json'))
    const { hyper, log } = runSchema.parse(all[run])
    const { flat, step } = await openSteps(t, trainingCase('A_b8_gamma4'), {
      betas: hyper.betas,
      epsilon: hyper.eps,
      weightDecay: hyper.weight_decay,
      clip: hyper.max_grad_norm,
      decayExclude: [],
    })
    for (const [i, want] of log.entries()) {
      const found = await step(hyper.lr)
      assert.ok(found.state === 'applied')
      assertNear(found.loss, want.loss_before)
      assertNear(found.gradientNorm, want.grad_norm_before_clip)
      assertNear(found.clipCoefficient, want.clip_coefficient)
      const file = files[i]
      if (file) assertTensors(flat, 'parameters', goldenMap(`${file}.safetensors`))
    }
    if (run === 'adamw_b95') return
    const moments = 'adamw_trainer_moments_step3.safetensors'
    assertTensors(flat, 'firstMoments', goldenMap(moments, 'exp_avg.'))
    assertTensors(flat, 'secondMoments', goldenMap(moments, 'exp_avg_sq.'))
  })
}

function assertNear(found: number, want: number): void {
  assert.ok(Math.abs(found - want) <= 1e-5 * want, `want=${want}, found=${found}`)
}
