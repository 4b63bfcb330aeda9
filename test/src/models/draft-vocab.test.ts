import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { DraftVocab, draftVocabOf, mostFrequent } from '../../../src/models/draft-vocab.ts'

const kept = new DraftVocab([0, 2, 5, 9], 12)

test('draft vocabulary: maps hold offsets, not ids, and mark the tokens that are kept', () => {
  const { d2t, t2d } = kept.maps()
  assert.deepEqual(Array.from(d2t, Number), [0, 1, 3, 6])
  assert.deepEqual(
    Array.from(t2d).flatMap((isIn, id) => (isIn ? [id] : [])),
    [0, 2, 5, 9],
  )
  assert.equal(3 + Number(d2t[3]), 9)
  assert.equal(kept.placeOf(9), 3)
  assert.equal(kept.placeOf(8), -1)
  assert.deepEqual(draftVocabOf(d2t, t2d).ids, kept.ids)
})

test('draft vocabulary: of all tokens, no id moves', () => {
  const { d2t, t2d } = new DraftVocab([0, 1, 2, 3], 4).maps()
  assert.deepEqual(
    [Array.from(d2t, Number), [...t2d]],
    [
      [0, 0, 0, 0],
      [1, 1, 1, 1],
    ],
  )
})

test('draft vocabulary: the most frequent tokens, of equals the lower ids, in order', () => {
  const counts = [3, 0, 9, 1, 3, 7]
  assert.deepEqual(mostFrequent(counts, 3).ids, [0, 2, 5])
  assert.deepEqual(mostFrequent(counts, 4).ids, [0, 2, 4, 5])
  assert.equal(mostFrequent(counts, 4).vocabSize, 6)
  // Another size gives other maps: nothing is kept from one to the next.
  assert.notDeepEqual(mostFrequent(counts, 3).maps(), mostFrequent(counts, 4).maps())
})

test('draft vocabulary: the rows of a head that belong to it', () => {
  const head = Float32Array.from({ length: 24 }, (_, i) => i)
  assert.deepEqual([...kept.rowsOf(head)], [0, 1, 4, 5, 10, 11, 18, 19])
})

test('draft vocabulary: ids that do not rise or are not there, and maps that disagree', () => {
  const { d2t, t2d } = kept.maps()
  for (const make of [
    () => new DraftVocab([], 4),
    () => new DraftVocab([1, 1], 4),
    () => new DraftVocab([2, 4], 4),
    () => new DraftVocab([-1, 2], 4),
    () => draftVocabOf(d2t, t2d.with(5, 0)),
    () => draftVocabOf(d2t, t2d.with(6, 1)),
  ]) {
    assert.throws(make, (error) => isFailure(error, 'invalid'))
  }
})
