import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fault, type Scenario, scenarioOf } from './scenario.ts'
import { shrink } from './shrink.ts'

const stop = (at: number): Fault => ({ kind: 'stop', at })

test('simulator: a failing scenario is cut down to what it fails of', async () => {
  const failing: Scenario = {
    ...scenarioOf(1),
    rows: 8,
    faults: Array.from({ length: 9 }, (_, at) => stop(at)),
  }
  const fails = async ({ faults, rows }: Scenario) =>
    rows >= 3 &&
    [2, 7].every((at) => faults.some((fault) => fault.kind === 'stop' && fault.at === at))
  const least = await shrink(failing, fails)
  assert.deepEqual(least.faults, [stop(2), stop(7)])
  assert.equal(least.rows, 3)
  assert.deepEqual([least.uploaders, least.extractors], [1, 1])
})
