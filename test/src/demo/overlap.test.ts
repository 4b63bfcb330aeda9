import assert from 'node:assert/strict'
import { test } from 'node:test'
import { overlap } from '../../../src/demo/overlap.ts'

const row = (ids: readonly number[], mask = ids.map(() => 1 as 0 | 1)) => ({ ids, mask })

test('overlap: the share of n-grams that training rows have', () => {
  const training = [row([1, 2, 3]), row([3, 4])]
  // Of 1 2, 2 3, 3 4, 4 5 the last is new; of three in a row only 1 2 3 is known.
  assert.equal(overlap(training, [row([1, 2, 3, 4, 5])], 2), 3 / 4)
  assert.equal(overlap(training, [row([1, 2, 3, 4, 5])], 3), 1 / 3)
  assert.equal(overlap(training, training, 2), 1)
})

test('overlap: prompts of held-out rows do not count, and no gram spans two answers', () => {
  const training = [row([1, 2, 3, 4], [0, 0, 0, 0])]
  assert.equal(overlap(training, [row([9, 1, 2, 9, 3, 4], [0, 1, 1, 0, 1, 1])], 2), 1)
  assert.equal(overlap(training, [row([1, 2, 7, 3, 4], [1, 1, 0, 1, 1])], 3), 0)
  assert.equal(overlap(training, [row([1, 2], [0, 0])], 1), 0)
})
