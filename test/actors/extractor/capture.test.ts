import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinLayers } from '../../../actors/extractor/capture.ts'
import { batchMs } from '../../../actors/extractor/deadline.ts'
import { LearntDeadline } from '../../../protocol/learnt-deadline.ts'

test('capture: 16-bit patterns are joined as they are', () => {
  const layers = [
    Uint16Array.of(1, 2, 3, 4, 90, 91, 92, 93),
    Uint16Array.of(5, 6, 7, 8, 94, 95, 96, 97),
  ]
  const shape = { rows: 2, width: 2, hidden: 2 }
  const joined = joinLayers(layers, shape, { index: 0, tokens: 2 })
  assert.deepEqual(joined, Uint16Array.of(1, 2, 5, 6, 3, 4, 7, 8))
  const second = joinLayers(layers, shape, { index: 1, tokens: 1 })
  assert.deepEqual(second, Uint16Array.of(90, 91, 94, 95))
})

test('deadline: long before anything is known, then many times the slowest, never hasty', () => {
  const deadline = new LearntDeadline(batchMs)
  assert.equal(deadline.ms, 30 * 60_000)
  deadline.took(10)
  assert.equal(deadline.ms, 2 * 60_000)
  deadline.took(60_000)
  deadline.took(20)
  assert.equal(deadline.ms, 20 * 60_000)
})

test('deadline: a batch that took no time is known all the same', () => {
  const deadline = new LearntDeadline(batchMs)
  deadline.took(0)
  assert.equal(deadline.ms, 2 * 60_000)
})
