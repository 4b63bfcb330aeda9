import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { eachOf, inOrder } from '../../src/each-of.ts'

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

test('in order: results come as their items do, however long each takes', async () => {
  let [underWay, most] = [0, 0]
  const work = async (item: number) => {
    most = Math.max(most, ++underWay)
    for (let i = 0; i < 10 - item; i++) await turn()
    underWay--
    return item
  }
  const results: number[] = []
  for await (const result of inOrder(Array.from({ length: 9 }).keys(), 4, work))
    results.push(result)
  assert.deepEqual(results, [0, 1, 2, 3, 4, 5, 6, 7, 8])
  assert.equal(most, 4)
})

test('in order: after a failure, or an end, nothing begins; what runs is waited for', async () => {
  for (const wanted of ['failure', 'end']) {
    const [begun, ended]: [number[], number[]] = [[], []]
    const work = async (item: number) => {
      begun.push(item)
      if (item === 1 && wanted === 'failure') throw new Error('the second')
      for (let i = 0; i < 3 * item; i++) await turn()
      ended.push(item)
      return item
    }
    const all = (async () => {
      for await (const result of inOrder([0, 1, 2, 3, 4, 5], 3, work)) if (result === 1) break
    })()
    if (wanted === 'failure') await assert.rejects(all, /the second/)
    else await all
    assert.deepEqual(begun, [0, 1, 2, 3])
    assert.deepEqual(ended, wanted === 'failure' ? [0, 2, 3] : [0, 1, 2, 3])
  }
})
