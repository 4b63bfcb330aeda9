import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import {
  type Blocks,
  blocksOfShape,
  drawBlocks,
  layBlocks,
  normalizeWeights,
  type SampleTokens,
} from '../../../src/training/blocks.ts'
import { maxAbsDiff } from '../../support/target-run.ts'
import { caseNames, floatsOf, integersOf, trainingCase } from '../../support/training/cases.ts'

/** One sample of ids 10, 11, …, all of them supervised but the ones named. */
const sample = (tokens: number, unsupervised: readonly number[] = []): SampleTokens => ({
  shape: { rows: 1, tokens },
  rows: [{ tokens }],
  tokenIds: BigInt64Array.from({ length: tokens }, (_, i) => BigInt(10 + i)),
  lossMask: Uint8Array.from({ length: tokens }, (_, i) => (unsupervised.includes(i) ? 0 : 1)),
})

const rounded = (weights: Float32Array) => Array.from(weights, (w) => Number(w.toFixed(4)))
const lay = (batch: SampleTokens, anchor: number) =>
  layBlocks(batch, [[anchor]], { blocks: 1, blockSize: 4, gamma: 7, draftVocab: null })

test('blocks: labels and weights of a slot are those of its own position (B09)', () => {
  const { labels, weights } = lay(sample(10), 3)
  assert.deepEqual(Array.from(labels, Number), [13, 14, 15, 16])
  assert.deepEqual(rounded(weights), [0, 1, 0.8669, 0.7515])
})

test('blocks: a hole in the loss mask, and the sample’s end, take only their own slots', () => {
  assert.deepEqual(rounded(lay(sample(10, [5]), 3).weights), [0, 1, 0, 0.7515])
  assert.deepEqual(rounded(lay(sample(10), 8).weights), [0, 1, 0, 0])
})

test('blocks: labels and weights agree with SpecForge’s', () => {
  for (const name of caseNames) {
    const { batch, drawn, blocks, expected, file } = trainingCase(name)
    const { gamma, block_size: blockSize } = expected
    const found = layBlocks(batch, drawn, { blocks, blockSize, gamma, draftVocab: null })
    assert.deepEqual(found.labels, integersOf(file, 'labels'), name)
    assert.ok(maxAbsDiff(found.weights, floatsOf(file, 'weights')) <= 1e-7, name)
    const binary = found.weights.map((weight) => (weight > 0 ? 1 : 0))
    assert.deepEqual(binary, floatsOf(file, 'binary_weights'), name)
    const ce = floatsOf(file, 'per_position_ce')
    normalizeWeights([found], 'step')
    const loss = found.weights.reduce((sum, weight, i) => sum + weight * ce[i], 0)
    assert.ok(Math.abs(loss - expected.loss) <= 1e-6 * expected.loss, `${name}: ${loss}`)
  }
})

const weightsOf = (step: readonly Blocks[]) => step.map(({ weights }) => Array.from(weights))
const made = (): Blocks[] => [lay(sample(10), 3), lay(sample(10), 8)]

test('blocks: divided by the weights of the whole step, they sum to 1', () => {
  const step = made()
  const [a, b] = weightsOf(made())
  const total = [...a, ...b].reduce((sum, weight) => sum + weight, 0)
  normalizeWeights(step, 'step')
  step.forEach(({ weights }, i) => {
    const want = [a, b][i].map((weight) => weight / total)
    assert.ok(maxAbsDiff(weights, want) < 1e-7)
  })
})

test('blocks: divided batch by batch, each batch has an equal share', () => {
  const step = made()
  normalizeWeights(step, 'batch')
  for (const { weights } of step) {
    const sum = weights.reduce((all, weight) => all + weight, 0)
    assert.ok(Math.abs(sum - 0.5) < 1e-6, String(sum))
  }
})

test('blocks: divided by the supervised slots, decay stays', () => {
  const step = made()
  normalizeWeights(step, 'supervised')
  assert.deepEqual(rounded(step[0].weights), [0, 0.25, 0.2167, 0.1879])
  assert.deepEqual(rounded(step[1].weights), [0, 0.25, 0, 0])
})

test('blocks: a step without any supervised slot is refused', () => {
  const nothing = [lay(sample(10, [4, 5, 6]), 3)]
  assert.throws(
    () => normalizeWeights(nothing, 'step'),
    (error) => isFailure(error, 'invalid') && /loss mask/.test(error.remedy ?? ''),
  )
})

test('blocks: drawn for each sample by itself; padding rows and short ones are left empty', () => {
  const tokens = 12
  const mask = (from: number, to: number) =>
    Array.from({ length: tokens }, (_, i) => (i >= from && i < to ? 1 : 0))
  const batch: SampleTokens = {
    shape: { rows: 4, tokens },
    rows: [{ tokens: 12 }, { tokens: 5 }, { tokens: 8 }],
    tokenIds: new BigInt64Array(4 * tokens),
    // The second sample has one supervised token alone: no rule of two in a row allows an anchor.
    lossMask: Uint8Array.from([...mask(0, 12), ...mask(4, 5), ...mask(2, 8), ...mask(0, 0)]),
  }
  const options = { rule: 'next-supervised', blockSize: 4, anchors: 3 } as const
  const drawn = drawBlocks(batch, options, { seed: 1, plan: 0 })
  assert.deepEqual(
    drawn.map((positions) => positions.length),
    [3, 0, 3],
  )
  assert.ok(drawn[2].every((p) => p >= 2 && p <= 6))
  assert.deepEqual(drawBlocks(batch, options, { seed: 1, plan: 0 }), drawn)
  const blocks = layBlocks(batch, drawn, { blocks: 4, blockSize: 4, gamma: 7, draftVocab: null })
  assert.deepEqual([...blocks.keep], [1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0])
  const ofRow = (row: number) => blocks.weights.subarray(row * 16, (row + 1) * 16)
  assert.ok(ofRow(1).every((weight) => weight === 0))
  assert.ok(ofRow(3).every((weight) => weight === 0))
  assert.ok(ofRow(2).some((weight) => weight > 0))
})

test('blocks: few different numbers of blocks a sample, never more than asked', () => {
  const drawn = (count: number) => [[], Array.from({ length: count }, (_, i) => i)]
  const found = [0, 1, 2, 3, 5, 300, 500, 512].map((count) => blocksOfShape(drawn(count), 500))
  assert.deepEqual(found, [1, 1, 2, 4, 8, 500, 500, 500])
})
