/** The whole training graph against SpecForge's loss and gradients: test/golden/dflash. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drafterTensors } from '../../../src/models/drafter-tensors.ts'
import { frozenNames } from '../../../src/models/frozen.ts'
import { openTarget } from '../../../src/models/target.ts'
import { prepareModel } from '../../../src/session/prepare.ts'
import { openSession } from '../../../src/session/session.ts'
import { bfloat16ToFloat32, float32ToBfloat16 } from '../../../src/tensor/bfloat16.ts'
import { float16ToFloat32, float32ToFloat16 } from '../../../src/tensor/float16.ts'
import { acceptanceOf, acceptedByBlock, accuracy } from '../../../src/training/acceptance.ts'
import { layBlocks, normalizeWeights } from '../../../src/training/blocks.ts'
import { gradientName, lossGraph } from '../../../src/training/loss-graph.ts'
import { golden } from '../../support/golden.ts'
import { type Numbers, runnable } from '../../support/run-graph.ts'
import { maxAbsDiff, scratch } from '../../support/target-run.ts'
import {
  caseNames,
  drafterOf,
  expectedOf,
  floatsOf,
  goldenTensors,
  type TrainingCase,
  trainingCase,
} from '../../support/training/cases.ts'
import { goldenFrozen } from '../../support/training/frozen.ts'

const megabyte = 2 ** 20

const graphOf = ({ config, batch, blocks }: TrainingCase, change: object = {}) =>
  lossGraph(config, {
    shape: { ...batch.shape, blocks },
    dtype: 'f32',
    tiedEmbeddings: true,
    frozen: 'inputs',
    chunkBytes: megabyte,
    recompute: false,
    learns: true,
    distillation: null,
    ...change,
  })

function feedsOf(at: TrainingCase, gamma = at.expected.gamma) {
  const { batch, drawn, blocks, config, hidden } = at
  const laid = layBlocks(batch, drawn, {
    blocks,
    blockSize: config.blockSize,
    gamma,
    draftVocab: null,
  })
  normalizeWeights([laid], 'step')
  const { anchors, labels, weights } = laid
  const feeds: Record<string, Numbers> = {
    ...drafterOf(at),
    ...goldenFrozen(),
    ...{ hidden, anchors, labels, weights },
  }
  return { laid, feeds }
}

const floats = (found: Record<string, Numbers>, name: string): Float32Array => {
  const numbers = found[name]
  assert.ok(numbers instanceof Float32Array, name)
  return numbers
}

const norm = (values: ArrayLike<number>): number => Math.sqrt(sumOfSquares(values))
const sumOfSquares = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, x) => sum + x * x, 0)

function assertLoss(found: Record<string, Numbers>, want: number): void {
  const [loss] = floats(found, 'loss')
  assert.ok(Math.abs(loss - want) <= 1e-5 * want, `loss: want=${want}, found=${loss}`)
}

function totalNorm(at: TrainingCase, found: Record<string, Numbers>): number {
  const squares = drafterTensors(at.config).map(({ name }) =>
    sumOfSquares(floats(found, gradientName(name))),
  )
  return Math.sqrt(squares.reduce((sum, square) => sum + square, 0))
}

for (const name of caseNames) {
  test(`training graph, ${name}: loss, slots and gradients agree with SpecForge’s`, async (t) => {
    const at = trainingCase(name)
    const { laid, feeds } = feedsOf(at)
    const found = await (await runnable(graphOf(at)))(feeds)
    assertLoss(found, at.expected.loss)
    assertSlots(at, found)
    const correct = floats(found, 'correct')
    assert.ok(Math.abs(accuracy(acceptanceOf(laid, correct)) - at.expected.accuracy) < 1e-6)
    assert.deepEqual(
      acceptedByBlock(laid, correct),
      at.expected.specforge_accept_len_per_block.flat(),
    )
    const total = totalNorm(at, found)
    assert.ok(Math.abs(total - at.expected.grad_norm) <= 1e-4 * at.expected.grad_norm, `${total}`)
    if (name.startsWith('D')) return
    const want = goldenTensors(`train_${name}_grads.safetensors`)
    let worst = 0
    for (const { name: parameter } of drafterTensors(at.config)) {
      const gradient = floatsOf(want, parameter)
      const gap = floats(found, gradientName(parameter)).map((x, i) => x - gradient[i])
      const off = norm(gap) / norm(gradient)
      assert.ok(off <= 1e-4, `gradient of ${parameter} is off by ${off} of its norm`)
      worst = Math.max(worst, off)
    }
    t.diagnostic(`gradients off by ${worst.toExponential(1)} of their norm at most`)
  })
}

/** Of all slots but the first, also where padding or the mask keeps them out of the loss. */
function assertSlots({ file, config }: TrainingCase, found: Record<string, Numbers>): void {
  const own = floats(found, 'cross_entropy')
  const trained = floatsOf(file, 'per_position_ce').filter((_, i) => i % config.blockSize !== 0)
  // Blocks that are not kept are 0 there, and computed here: they have no weight.
  const kept = own.map((ce, i) => (trained[i] === 0 ? 0 : ce))
  const diff = maxAbsDiff(kept, trained)
  assert.ok(diff <= 1e-4, `cross-entropy of a slot is off by ${diff}`)
}

test('training graph: without decay, loss and gradient norm agree too', async () => {
  const at = trainingCase('A_b8_gamma4')
  const want = expectedOf('A_b8_nodecay')
  const { feeds } = feedsOf(at, null)
  const found = await (await runnable(graphOf(at)))(feeds)
  assertLoss(found, want.loss)
  const total = totalNorm(at, found)
  assert.ok(Math.abs(total - want.grad_norm) <= 1e-4 * want.grad_norm, `${total}`)
})

test('training graph: layers computed again, and a head in chunks, change nothing', async () => {
  for (const name of ['B_b8_gamma7_padded', 'A_b8_sliding_gamma4']) {
    const at = trainingCase(name)
    const { feeds } = feedsOf(at)
    const plain = await (await runnable(graphOf(at)))(feeds)
    // 7 rows of logits at once.
    const chunked = { recompute: true, chunkBytes: 7 * 4 * at.config.vocabSize }
    const found = await (await runnable(graphOf(at, chunked)))(feeds)
    assertLoss(found, at.expected.loss)
    for (const { name: parameter } of drafterTensors(at.config)) {
      const [one, other] = [plain, found].map((all) => floats(all, gradientName(parameter)))
      assert.ok(norm(one.map((x, i) => x - other[i])) <= 1e-6 * norm(one), parameter)
    }
  }
})

test('training graph: hidden states come as their bits, and are what they stand for', async () => {
  const at = trainingCase('A_b8_gamma4')
  const { feeds } = feedsOf(at)
  for (const [dtype, narrow, widen] of [
    ['bf16', float32ToBfloat16, bfloat16ToFloat32],
    ['f16', float32ToFloat16, float16ToFloat32],
  ] as const) {
    const bits = narrow(at.hidden)
    const want = await (await runnable(graphOf(at)))({ ...feeds, hidden: widen(bits) })
    const found = await (await runnable(graphOf(at, { dtype })))({ ...feeds, hidden: bits })
    assert.deepEqual(found, want, dtype)
  }
})

test('training graph: a head of its own is taken where the target has one', async () => {
  const at = trainingCase('A_b8_gamma4')
  const { feeds } = feedsOf(at)
  const { embedding, head } = frozenNames(false)
  const own = { ...feeds, [head]: feeds[embedding] }
  const found = await (await runnable(graphOf(at, { tiedEmbeddings: false })))(own)
  assert.deepEqual(found, await (await runnable(graphOf(at)))(feeds))
  const other = { ...own, [head]: new Float32Array(floats(feeds, embedding).length) }
  const { loss } = await (await runnable(graphOf(at, { tiedEmbeddings: false })))(other)
  assert.ok(Math.abs(Number(loss[0]) - Math.log(at.config.vocabSize)) < 1e-5)
})

test('training graph: embedding and head may stay in the target’s own file', async (t) => {
  const at = trainingCase('A_b8_gamma4')
  const { feeds } = feedsOf(at)
  const { weights } = await openTarget(golden('targets', 'qwen3_tied_f32'))
  const graph = graphOf(at, { frozen: weights, learns: false })
  const session = await openSession(await prepareModel(graph, await scratch(t), () => {}), {
    device: 'cpu',
    threads: 1,
  })
  t.after(() => session.release())
  const given = graph.inputs.map(({ name, shape }) => {
    const numbers = feeds[name]
    assert.ok(!(numbers instanceof Uint16Array))
    const at = { shape: shape.map(Number) }
    return [
      name,
      numbers instanceof BigInt64Array
        ? ({ ...at, dtype: 'I64', data: numbers } as const)
        : ({ ...at, dtype: 'F32', data: numbers } as const),
    ] as const
  })
  const { loss } = await session.run(Object.fromEntries(given))
  assertLoss({ loss: Float32Array.of(Number(loss.data[0])) }, at.expected.loss)
})
