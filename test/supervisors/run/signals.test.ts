import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../src/clock.ts'
import { countSignals, endSignals, exitCodeOf } from '../../../supervisors/run/signals.ts'

test('signals: the first drains, the second hurries, every later one leaves at once', () => {
  const clock = new SimulatedClock()
  const urgency = countSignals(clock)
  const told = Array.from({ length: 4 }, () => {
    clock.advance(300)
    return urgency()
  })
  assert.deepEqual(told, ['drain', 'hurry', 'leave', 'leave'])
})

test('signals: one that several pass on within a moment counts once (B44)', () => {
  const clock = new SimulatedClock()
  const urgency = countSignals(clock)
  assert.equal(urgency(), 'drain')
  clock.advance(50)
  assert.equal(urgency(), null)
  clock.advance(200)
  assert.equal(urgency(), 'hurry')
})

test('signals: each has the exit code that shells give it', () => {
  assert.deepEqual(endSignals.map(exitCodeOf), [129, 130, 143])
})
