import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonIn } from '../../../../supervisors/drills/rig/calm.ts'

test('calm: of what a run told in JSON, its reason in words, or how it ended', () => {
  const told = (state: string, reason: string | null) =>
    `${JSON.stringify({ code: 5, state, reason, rows: null })}\n`
  assert.equal(reasonIn(told('gaveUp', 'the store is away. hours=1')), 'the store is away. hours=1')
  assert.equal(reasonIn(told('stopped', null)), 'it ended stopped')
  assert.equal(reasonIn(''), undefined)
})
