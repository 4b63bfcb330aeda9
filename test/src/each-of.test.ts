import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { eachOf } from '../../src/each-of.ts'

test('each of: all are worked on, so many at once and no more', async () => {
  const seen: number[] = []
  let [underWay, most] = [0, 0]
  await eachOf(Array.from({ length: 20 }).keys(), 3, async (item) => {
    most = Math.max(most, ++underWay)
    await turn()
    seen.push(item)
    underWay--
  })
  assert.deepEqual(seen, [...Array.from({ length: 20 }).keys()])
  assert.equal(most, 3)
})

test('each of: after a failure nothing new begins, and what is under way ends first', async () => {
  const [begun, ended]: [number[], number[]] = [[], []]
  const all = eachOf([0, 1, 2, 3, 4, 5], 2, async (item) => {
    begun.push(item)
    if (item === 0) throw new Error('the first')
    for (let i = 0; i < 5; i++) await turn()
    ended.push(item)
  })
  await assert.rejects(all, /the first/)
  assert.deepEqual([begun, ended], [[0, 1], [1]])
})
