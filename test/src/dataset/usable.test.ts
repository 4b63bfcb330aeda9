import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipByLength, usable } from '../../../src/dataset/usable.ts'

const limits = { vocab: 10, maxTokens: 4 }
const row = (ids: number[], mask: number[] | null) => ({
  ids: Int32Array.from(ids),
  mask: mask && Uint8Array.from(mask),
})

test('usable: a row within the limits passes as it is, with a mask or without', () => {
  for (const good of [row([1, 9], [0, 1]), row([1, 2, 3, 4], null)]) {
    assert.equal(usable(good, limits), good)
  }
})

test('usable: what the target cannot take, or would learn nothing from, is named', () => {
  assert.deepEqual(usable(row([1, 10], [0, 1]), limits), {
    unusable: 'token id beyond vocabulary',
  })
  assert.deepEqual(usable(row([1, 2], [0, 0]), limits), { unusable: 'no supervised token' })
  assert.deepEqual(usable(row([1, 2, 3, 4, 5], [1, 1, 1, 1, 1]), limits), { unusable: 'too long' })
})

test('usable: a row that was unusable keeps its own reason', () => {
  assert.deepEqual(usable({ unusable: 'null row' }, limits), { unusable: 'null row' })
})

test('usable: a length alone tells null, empty and too long rows', () => {
  const reasons = [-1, 0, 1, 4, 5].map((length) => skipByLength(length, limits.maxTokens))
  assert.deepEqual(reasons, ['null row', 'empty', undefined, undefined, 'too long'])
})
