import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restartedWith } from '../../../supervisors/engine/strategy.ts'

const children = ['a', 'b', 'c']

test('strategy: one-for-one restarts the dead child alone', () => {
  for (const dead of children)
    assert.deepEqual(restartedWith('one-for-one', children, dead), [dead])
})

test('strategy: one-for-all restarts all, in the order they start', () => {
  for (const dead of children) {
    assert.deepEqual(restartedWith('one-for-all', children, dead), children)
  }
})

test('strategy: rest-for-one restarts the dead child and those started after it', () => {
  assert.deepEqual(restartedWith('rest-for-one', children, 'a'), ['a', 'b', 'c'])
  assert.deepEqual(restartedWith('rest-for-one', children, 'b'), ['b', 'c'])
  assert.deepEqual(restartedWith('rest-for-one', children, 'c'), ['c'])
})
