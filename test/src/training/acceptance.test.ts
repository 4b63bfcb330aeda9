import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Acceptance,
  acceptanceLength,
  acceptanceOf,
  acceptedByBlock,
  accuracy,
  accuracyBySlot,
  addAcceptance,
} from '../../../src/training/acceptance.ts'
import { type Blocks, layBlocks } from '../../../src/training/blocks.ts'
import { caseNames, integersOf, trainingCase } from '../../support/training/cases.ts'

/** One block of eight, of which the slots named are not supervised, or cannot be drafted. */
const block = (
  unsupervised: readonly number[] = [],
  undraftable: readonly number[] = [],
): Blocks => {
  const supervised = Uint8Array.from({ length: 8 }, (_, k) =>
    k === 0 || unsupervised.includes(k) ? 0 : 1,
  )
  return {
    shape: { rows: 1, blocks: 1, size: 8 },
    anchors: new BigInt64Array(1),
    keep: Uint8Array.of(1),
    labels: new BigInt64Array(8),
    weights: Float32Array.from(supervised, (is, k) => (undraftable.includes(k) ? 0 : is)),
    supervised,
  }
}

test('acceptance: hits after the first miss do not count (B48)', () => {
  const found = acceptanceOf(block(), [1, 1, 1, 0, 1, 1, 1])
  assert.equal(acceptanceLength(found), 4)
  assert.equal(accuracy(found), 6 / 7)
  assert.deepEqual(accuracyBySlot(found), [1, 1, 1, 0, 1, 1, 1])
  assert.equal(acceptanceLength(acceptanceOf(block(), [1, 1, 1, 1, 1, 1, 1])), 8)
  assert.equal(acceptanceLength(acceptanceOf(block(), [0, 1, 1, 1, 1, 1, 1])), 1)
})

test('acceptance: a slot that is not supervised neither counts nor ends the run', () => {
  const found = acceptanceOf(block([2]), [1, 0, 1, 0, 1, 1, 1])
  assert.equal(acceptanceLength(found), 3)
  assert.equal(accuracy(found), 5 / 6)
  const none = acceptanceOf(block([1, 2, 3, 4, 5, 6, 7]), [1, 1, 1, 1, 1, 1, 1])
  assert.deepEqual([none.blocks, none.accepted], [0, 0])
  assert.ok(Number.isNaN(acceptanceLength(none)))
})

test('acceptance: a token that cannot be drafted is never right', () => {
  const found = acceptanceOf(block([], [3]), [1, 1, 1, 1, 1, 1, 1])
  assert.equal(acceptanceLength(found), 3)
  assert.equal(accuracy(found), 6 / 7)
})

test('acceptance: counts of many add up, once each (B48)', () => {
  const one: Acceptance = { supervised: [5, 5], correct: [5, 3], blocks: 5, accepted: 8 }
  const four = [one, one, one].reduce(addAcceptance, one)
  assert.deepEqual(four, { supervised: [20, 20], correct: [20, 12], blocks: 20, accepted: 32 })
  assert.equal(accuracy(four), 0.8)
  assert.equal(acceptanceLength(four), acceptanceLength(one))
})

test('acceptance: accuracy and accepted lengths agree with SpecForge’s', () => {
  for (const name of caseNames) {
    const { batch, drawn, blocks, expected, file } = trainingCase(name)
    const { gamma, block_size: blockSize } = expected
    const laid = layBlocks(batch, drawn, { blocks, blockSize, gamma, draftVocab: null })
    const predicted = integersOf(file, 'predicted_ids')
    const correct: number[] = []
    laid.labels.forEach((label, i) => {
      if (i % blockSize !== 0) correct.push(predicted[i] === label ? 1 : 0)
    })
    const found = acceptanceOf(laid, correct)
    const lengths = expected.specforge_accept_len_per_block.flat()
    assert.deepEqual(acceptedByBlock(laid, correct), lengths, name)
    assert.ok(Math.abs(accuracy(found) - expected.accuracy) < 1e-6, name)
  }
})
