import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Crash, scaled } from '../../../../supervisors/drills/rig/crash.ts'

test('drills: on a smaller job a death comes while there is work left', () => {
  const calls = new Map([
    ['extractor.computed', 4],
    ['ledger.stored', 200],
    ['manifest.put', 1],
  ])
  const hit = (crash: Crash) => scaled(crash, calls).hit
  assert.equal(hit({ at: 'extractor.computed', hit: 4, end: 'exit' }), 2)
  assert.equal(hit({ at: 'extractor.computed', hit: 1, end: 'exit' }), 1)
  assert.equal(hit({ at: 'ledger.stored', hit: 30, end: 'all' }), 30)
  assert.equal(hit({ at: 'manifest.put', hit: 3, end: 'all' }), 1)
  const always: Crash = { at: 'extractor.computed', end: 'abort', always: true }
  assert.deepEqual(scaled(always, calls), always)
  const byTime: Crash = { afterMs: 100, end: 'all' }
  assert.deepEqual(scaled(byTime, calls), byTime)
})
