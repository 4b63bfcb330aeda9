import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../src/clock.ts'
import { RestartWindow } from '../../../supervisors/engine/restarts.ts'

const limit = { max: 2, withinMs: 10_000 }

test('restarts: five children that die once each all start again, at 2 in 10 s', () => {
  const clock = new SimulatedClock()
  const windows = Array.from({ length: 5 }, () => new RestartWindow(limit, clock))
  assert.deepEqual(
    windows.map((window) => window.charge()),
    [true, true, true, true, true],
  )
})

test('restarts: a child that dies three times within 10 s is given up at the third', () => {
  const clock = new SimulatedClock()
  const window = new RestartWindow(limit, clock)
  const charged = [0, 4_000, 5_999].map((ms) => {
    clock.advance(ms)
    return window.charge()
  })
  assert.deepEqual(charged, [true, true, false])
})

test('restarts: a child that dies every 11 s goes on for ever', () => {
  const clock = new SimulatedClock()
  const window = new RestartWindow(limit, clock)
  for (let death = 0; death < 1_000; death++) {
    clock.advance(11_000)
    assert.ok(window.charge())
  }
})

test('restarts: a restart leaves the window when its time is over, to the millisecond', () => {
  const clock = new SimulatedClock()
  const window = new RestartWindow({ max: 1, withinMs: 10_000 }, clock)
  assert.ok(window.charge())
  clock.advance(9_999)
  assert.equal(window.charge(), false)
  clock.advance(1)
  assert.ok(window.charge())
})
