import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { LineHistory } from '../../../supervisors/display/line-history.ts'
import { scratch } from '../../support/target-run.ts'

test('history: what was typed is there for the next session, the latest first', async (t) => {
  const folder = await scratch(t)
  const first = new LineHistory(folder)
  assert.deepEqual(first.read(), [])
  for (const line of ['status', ' ', 'kill ledger']) first.add(line)
  assert.deepEqual(new LineHistory(folder).read(), ['kill ledger', 'status'])
  assert.equal(statSync(join(folder, 'history')).mode & 0o777, 0o600)
})

test('history: it is bounded, and where it cannot be kept nobody is harmed', async (t) => {
  const folder = await scratch(t)
  const lines = Array.from({ length: 2001 }, (_, n) => `note ${n}\n`).join('')
  writeFileSync(join(folder, 'history'), lines)
  const history = new LineHistory(folder)
  assert.deepEqual([history.read().length, history.read()[0]], [1000, 'note 2000'])
  assert.equal(readFileSync(join(folder, 'history'), 'utf8').split('\n').length, 1001)
  const nowhere = new LineHistory(join(folder, 'gone'))
  nowhere.add('status')
  assert.deepEqual(nowhere.read(), [])
})
