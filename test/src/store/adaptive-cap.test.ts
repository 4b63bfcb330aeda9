import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdaptiveCap } from '../../../src/store/adaptive-cap.ts'
import type { Outcome } from '../../../src/store/limited.ts'

/** So many requests of the present round that end so; what became of the cap. */
function ends(cap: AdaptiveCap, outcome: Outcome, times: number): unknown[] {
  const { round } = cap
  return Array.from({ length: times }, () => cap.note(outcome, round)).filter((told) => told)
}

test('adaptive cap: a hundred that are throttled in one round halve it once', () => {
  const cap = new AdaptiveCap(100)
  assert.deepEqual(ends(cap, 'throttled', 100), ['lowered'])
  assert.equal(cap.inForce, 50)
  assert.deepEqual(ends(cap, 'throttled', 50), [], 'told once, when it leaves the whole')
  assert.equal(cap.inForce, 25)
})

test('adaptive cap: those that began before a cut neither cut again nor raise it', () => {
  const cap = new AdaptiveCap(100)
  const before = cap.round
  cap.note('throttled', before)
  for (const outcome of ['throttled', 'answered', 'lost'] as const) cap.note(outcome, before)
  assert.equal(cap.inForce, 50)
})

test('adaptive cap: it never falls below four, nor below a cap that is smaller', () => {
  for (const [max, least] of [
    [100, 4],
    [3, 3],
    [1, 1],
  ]) {
    const cap = new AdaptiveCap(max)
    for (let round = 0; round < 20; round++) ends(cap, 'throttled', 1)
    assert.equal(cap.inForce, least)
  }
})

test('adaptive cap: each round of answers adds a fixed step, up to the whole, and no more', () => {
  const cap = new AdaptiveCap(100)
  ends(cap, 'throttled', 1)
  const seen = [cap.inForce]
  const told: unknown[] = []
  for (let round = 0; round < 60 && cap.inForce < 100; round++) {
    told.push(...ends(cap, 'answered', cap.inForce))
    seen.push(cap.inForce)
  }
  const steps = seen.slice(1).map((inForce, i) => inForce - (seen[i] ?? 0))
  assert.ok(
    steps.every((step) => step >= 1 && step <= 2),
    `steps=${steps}`,
  )
  assert.deepEqual(told, ['restored'])
  assert.deepEqual(ends(cap, 'answered', 1000), [])
  assert.equal(cap.inForce, 100)
})

test('adaptive cap: a request that was lost tells nothing', () => {
  const cap = new AdaptiveCap(100)
  assert.deepEqual(ends(cap, 'lost', 100), [])
  assert.equal(cap.inForce, 100)
})

test('adaptive cap: a new cap is in force at once, unless the store bears less', () => {
  const cap = new AdaptiveCap(100)
  cap.setMax(200)
  assert.equal(cap.inForce, 200)
  cap.setMax(10)
  assert.equal(cap.inForce, 10)
  cap.setMax(100)
  ends(cap, 'throttled', 1)
  cap.setMax(400)
  assert.equal(cap.inForce, 50, 'it climbs there')
  cap.setMax(20)
  assert.equal(cap.inForce, 20)
  assert.deepEqual(ends(cap, 'throttled', 1), ['lowered'])
})

/** A store that bears `limit` at once, and throttles every request of a round that is larger. */
test('adaptive cap: it comes to swing around what the store bears', () => {
  const cap = new AdaptiveCap(100)
  const limit = 30
  const seen: number[] = []
  for (let round = 0; round < 300; round++) {
    const { inForce } = cap
    ends(cap, inForce > limit ? 'throttled' : 'answered', inForce)
    if (round > 50) seen.push(cap.inForce)
  }
  assert.ok(Math.max(...seen) <= limit + 2, `most=${Math.max(...seen)}`)
  assert.ok(Math.min(...seen) >= limit / 2, `least=${Math.min(...seen)}`)
})
