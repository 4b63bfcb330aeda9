import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tallyText } from '../../../supervisors/display/tally.ts'

test('tally: how many, how fast, how long still; more than were known of is no surprise', () => {
  const at = { done: 1500, all: 914_000, perSecond: 250 }
  assert.equal(tallyText('read', at), 'read 1,500 of 914,000, 250/s, 1:00:50 left')
  const more = { done: 12, all: 10, perSecond: 0 }
  assert.equal(tallyText('listed', more), 'listed 12 of 10, 0.0/s, ? left')
})
