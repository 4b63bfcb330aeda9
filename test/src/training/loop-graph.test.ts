/** Three steps in one run, against PyTorch's three: test/golden/dflash. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drafterTensors } from '../../../src/models/drafter-tensors.ts'
import { frozenNames } from '../../../src/models/frozen.ts'
import type { AdamwSettings } from '../../../src/optim/adamw.ts'
import { ratesOf } from '../../../src/optim/judge.ts'
import { layBlocks, normalizeWeights } from '../../../src/training/blocks.ts'
import { afterLoop, loopGraph } from '../../../src/training/loop-graph.ts'
import { stateNames } from '../../../src/training/step-graph.ts'
import { type Numbers, runnable } from '../../support/run-graph.ts'
import { drafterOf, floatsOf, goldenTensors, trainingCase } from '../../support/training/cases.ts'
import { goldenFrozen } from '../../support/training/frozen.ts'

const lr = 6e-4
const settings: AdamwSettings = {
  betas: [0.9, 0.999],
  epsilon: 1e-8,
  weightDecay: 0.01,
  clip: 1,
  decayExclude: [],
}

const at = trainingCase('A_b8_gamma4')
const tensors = drafterTensors(at.config)

/** The same batch again and again; what differs is given. */
function feedsOf(times: number, ends: readonly number[], share: number) {
  const { batch, blocks, config, drawn, expected, hidden } = at
  const { blockSize } = config
  const laying = { blocks, blockSize, gamma: expected.gamma, draftVocab: null }
  const laid = layBlocks(batch, drawn, laying)
  normalizeWeights([laid], 'step')
  const weights = laid.weights.map((weight) => weight * share)
  const again = <A extends Float32Array | BigInt64Array>(data: A) =>
    Array.from({ length: times }, () => Array.from<number | bigint>(data)).flat()
  const floats = (data: Float32Array) => Float32Array.from(again(data), Number)
  const integers = (data: BigInt64Array) => BigInt64Array.from(again(data), BigInt)
  const { embedding } = frozenNames(true)
  const rates = Array.from({ length: times }, (_, i) => ratesOf(settings, 1, i + 1))
  const all = (number: number) => new Float32Array(times).fill(number)
  const zeros = tensors.flatMap(({ name, shape }) => {
    const count = shape.reduce((product, dim) => product * dim, 1)
    const { firstMoments, secondMoments } = stateNames
    return [firstMoments, secondMoments].map((of) => [of(name), new Float32Array(count)] as const)
  })
  return {
    ...drafterOf(at),
    ...Object.fromEntries(zeros),
    [embedding]: goldenFrozen()[embedding],
    ...{ hidden: floats(hidden), weights: floats(weights) },
    ...{ anchors: integers(laid.anchors), labels: integers(laid.labels) },
    ...{ lr: all(lr), keep: all(1 - lr * settings.weightDecay), ends: Float32Array.from(ends) },
    rates: Float32Array.from(rates, ({ rate }) => rate),
    corrections: Float32Array.from(rates, ({ correction }) => correction),
  }
}

async function run(ends: readonly number[], share: number, change: Record<string, Numbers> = {}) {
  const { batch, blocks } = at
  const times = ends.length
  const graph = loopGraph(at.config, {
    settings,
    times,
    loss: {
      ...{ shape: { ...batch.shape, blocks }, dtype: 'f32', tiedEmbeddings: true },
      ...{ frozen: 'inputs', chunkBytes: 2 ** 20, recompute: true, learns: true },
      distillation: null,
    },
  })
  return await (await runnable(graph))({ ...feedsOf(times, ends, share), ...change })
}

function assertGolden(found: Readonly<Record<string, Numbers>>): void {
  const parameters = goldenTensors('adamw_trainer_step3.safetensors')
  const gaps = tensors.flatMap(({ name }) => {
    const values = found[afterLoop(name)]
    return Array.from(floatsOf(parameters, name), (want, i) => Math.abs(want - Number(values[i])))
  })
  // As far as steps.test.ts lets single steps be off.
  assert.ok(gaps.every((gap) => gap < 3e-5))
  assert.ok(gaps.reduce((a, b) => a + b) / gaps.length < 1e-8)
}

test('loop graph: three steps in one run give the parameters of PyTorch', async () => {
  const found = await run([1, 1, 1], 1)
  assertGolden(found)
  const losses = Array.from<number | bigint>(found.loss).map(Number)
  assert.ok(losses[0] > losses[1] && losses[1] > losses[2])
})

test('loop graph: a step may be of several batches', async () => {
  assertGolden(await run([0, 1, 0, 1, 0, 1], 0.5))
})

test('loop graph: what is not finite changes nothing, and is no step', async () => {
  const { hidden } = feedsOf(4, [1, 1, 1, 1], 1)
  hidden[hidden.length / 4] = Number.NaN
  const found = await run([1, 1, 1, 1], 1, { hidden })
  assertGolden(found)
  const finite = Array.from<number | bigint>(found.norm).map((norm) => Number.isFinite(norm))
  assert.deepEqual(finite, [true, false, true, true])
})
