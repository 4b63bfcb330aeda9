import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import { Delays } from '../../../supervisors/engine/backoff.ts'
import { RestartWindow } from '../../../supervisors/engine/restarts.ts'

const fiveMinutes = 300_000
const spec = { firstMs: 100, factor: 2, capMs: 5_000, jitter: 0.2, quietMs: fiveMinutes }

test('backoff: delays grow by at least 1.5 each time, up to the cap', () => {
  for (let seed = 0; seed < 200; seed++) {
    const delays = new Delays(spec, seededRandom(seed))
    let last = delays.next(0)
    for (let death = 0; death < 5; death++) {
      const next = delays.next(1_000)
      assert.ok(next >= 1.5 * last, `seed=${seed}: ${last} ms, then ${next} ms`)
      last = next
    }
    for (let death = 0; death < 5; death++) {
      const capped = delays.next(0)
      assert.ok(capped <= spec.capMs && capped >= 0.8 * spec.capMs, `seed=${seed}: ${capped} ms`)
    }
  }
})

test('backoff: after five quiet minutes the delay is back at its base, and not before', () => {
  const delays = new Delays({ ...spec, jitter: 0 }, () => 0)
  assert.deepEqual(
    [0, 0, 0].map((ranMs) => delays.next(ranMs)),
    [100, 200, 400],
  )
  assert.equal(delays.next(fiveMinutes - 1), 800)
  assert.equal(delays.next(fiveMinutes), 100)
})

test('backoff: jitter only takes away, and never more than its part', () => {
  const most = new Delays(spec, () => 0.999_999)
  const least = new Delays(spec, () => 0)
  assert.ok(most.next(0) > 79.9)
  assert.equal(least.next(0), 100)
})

test('backoff: a child that outlives its quiet time but dies within its window is given up', () => {
  // Barely healthy: each life resets the backoff, none resets the window.
  const clock = new SimulatedClock()
  const delays = new Delays({ ...spec, quietMs: 5_000, jitter: 0 }, () => 0)
  const window = new RestartWindow({ max: 3, withinMs: 60_000 }, clock)
  const restarts: number[] = []
  for (;;) {
    clock.advance(6_000)
    if (!window.charge()) break
    const delayMs = delays.next(6_000)
    restarts.push(delayMs)
    clock.advance(delayMs)
  }
  assert.deepEqual(restarts, [100, 100, 100])
})
