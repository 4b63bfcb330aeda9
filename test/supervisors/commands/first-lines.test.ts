import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstLines } from '../../../supervisors/commands/first-lines.ts'

test('first lines: a hundred are shown, and how many more there are', () => {
  const lines = Array.from({ length: 1101 }, (_, i) => `key ${i}`)
  assert.deepEqual(firstLines(lines.slice(0, 100)), lines.slice(0, 100))
  const shown = firstLines(lines)
  assert.equal(shown.length, 101)
  assert.match(shown[100], /^… and 1.?001 more; --json names them all$/)
})
