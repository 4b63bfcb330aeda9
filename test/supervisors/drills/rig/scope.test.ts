import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ending } from '../../../../supervisors/drills/rig/scope.ts'

test('drills: the last that was begun ends first, and what is begun later at once', async () => {
  const ended: string[] = []
  const ending = new Ending()
  for (const name of ['store', 'run']) ending.after(() => ended.push(name))
  await ending.end()
  assert.deepEqual(ended, ['run', 'store'])
  ending.after(() => ended.push('late'))
  assert.deepEqual(ended, ['run', 'store', 'late'])
})

test('drills: what was begun after the end and cannot be ended is told', async () => {
  const told: string[] = []
  const ending = new Ending((line) => told.push(line))
  await ending.end()
  ending.after(() => Promise.reject(new Error('it is stuck')))
  await new Promise(setImmediate)
  assert.deepEqual(told, ['what was begun after the end could not be ended: it is stuck'])
})
