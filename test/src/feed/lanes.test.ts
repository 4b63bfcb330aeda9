import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { deferred } from '../../../protocol/deferred.ts'
import { Lanes } from '../../../src/feed/lanes.ts'

const never = new AbortController().signal

function works(lanes: Lanes, sizes: readonly number[], signal = never) {
  const begun: number[] = []
  const ends = sizes.map(() => deferred<void>())
  const all = sizes.map((bytes, i) =>
    lanes.run(
      async () => {
        begun.push(i)
        await ends[i].promise
      },
      bytes,
      signal,
    ),
  )
  return { begun, all, end: (i: number) => ends[i].resolve() }
}

test('lanes: so many at once, in the order they came', async () => {
  const { all, begun, end } = works(new Lanes({ count: 2, bytesMax: 100 }), [1, 1, 1, 1])
  await turn()
  assert.deepEqual(begun, [0, 1])
  end(1)
  await turn()
  assert.deepEqual(begun, [0, 1, 2])
  for (const i of [0, 2, 3]) end(i)
  await Promise.all(all)
  assert.deepEqual(begun, [0, 1, 2, 3])
})

test('lanes: no more bytes than allowed, and a larger work alone', async () => {
  const { all, begun, end } = works(new Lanes({ count: 9, bytesMax: 10 }), [6, 6, 20, 1])
  await turn()
  assert.deepEqual(begun, [0])
  end(0)
  await turn()
  assert.deepEqual(begun, [0, 1])
  end(1)
  await turn()
  assert.deepEqual(begun, [0, 1, 2])
  end(2)
  end(3)
  await Promise.all(all)
})

test('lanes: what is aborted before its turn does not begin, and holds no lane', async () => {
  const lanes = new Lanes({ count: 1, bytesMax: 10 })
  const abort = new AbortController()
  const first = works(lanes, [1])
  const second = works(lanes, [1, 1], abort.signal)
  abort.abort(new Error('enough'))
  first.end(0)
  for (const work of second.all) await assert.rejects(work, /enough/)
  assert.deepEqual(second.begun, [])
  const third = works(lanes, [1])
  third.end(0)
  await Promise.all(third.all)
})
