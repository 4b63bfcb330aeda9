import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Heeded } from '../../protocol/heeded.ts'

test('heeded: each change is told to who heeds it, and what came before at once', () => {
  const heeded = new Heeded()
  heeded.change({ 'commit.every': 5, 'log.level': 'debug' })
  const every: number[] = []
  heeded.heed('commit.every', (value) => every.push(value))
  heeded.heed('commit.seconds', () => assert.fail('nobody changed it'))
  heeded.change({ 'log.level': 'warn' })
  heeded.change({ 'commit.every': 7 })
  assert.deepEqual(every, [5, 7])
})
