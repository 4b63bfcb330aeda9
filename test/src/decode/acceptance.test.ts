import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptanceOf } from '../../../src/decode/acceptance.ts'
import { differenceOf } from '../../../src/decode/difference.ts'
import type { Decoded } from '../../../src/decode/speculate.ts'

test('acceptance: means over steps and over prompts, how long, and how far', () => {
  const { interval, ...found } = acceptanceOf([[1, 1, 4], [3], []], 4)
  assert.deepEqual(found, {
    prompts: 2,
    steps: 4,
    tau: 9 / 4,
    meanOfPrompts: 2.5,
    histogram: [2, 0, 1, 1],
    byPosition: [0.5, 0.5, 0.25],
  })
  // Drawn anew, two prompts are both of them or one twice.
  assert.deepEqual(interval, [2, 3])
})

test('acceptance: of nothing there is no mean, of one prompt no interval', () => {
  const none = acceptanceOf([[], []], 3)
  assert.deepEqual([none.prompts, none.tau, none.meanOfPrompts], [0, null, null])
  assert.deepEqual(
    [none.histogram, none.byPosition],
    [
      [0, 0, 0],
      [0, 0],
    ],
  )
  assert.equal(acceptanceOf([[2, 2]], 3).interval, null)
})

test('acceptance: the interval holds the mean, and is narrower of more prompts', () => {
  const prompts = (count: number) =>
    Array.from({ length: count }, (_, i) => [1 + (i % 7), 2, 1 + (i % 3)])
  const width = (count: number) => {
    const { tau, interval } = acceptanceOf(prompts(count), 8)
    assert.ok(tau && interval && interval[0] < tau && tau < interval[1])
    return interval[1] - interval[0]
  }
  assert.ok(width(210) < width(21) / 2)
  assert.deepEqual(acceptanceOf(prompts(50), 8), acceptanceOf(prompts(50), 8))
})

const decoded = (tokens: readonly number[], leads: readonly number[]): Decoded => ({
  tokens,
  leads,
  steps: [],
})

test('difference: the first place where texts part; a tie is what rounding explains', () => {
  const alone = decoded([4, 5, 6], [1, 0.5, 2])
  assert.equal(differenceOf(alone, alone), null)
  assert.deepEqual(differenceOf(alone, decoded([4, 7, 8], [1, 0.25, 3])), {
    at: 1,
    alone: 5,
    drafted: 7,
    lead: 0.25,
    isTie: false,
  })
  const tie = differenceOf(alone, decoded([4, 7, 8], [1, 1e-5, 3]))
  assert.deepEqual([tie?.lead, tie?.isTie], [1e-5, true])
  const shorter = differenceOf(alone, decoded([4, 5], [1, 0.5]))
  assert.deepEqual(shorter, { at: 2, alone: 6, drafted: null, lead: 2, isTie: false })
})
