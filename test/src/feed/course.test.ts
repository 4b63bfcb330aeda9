import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Course, type PlannedBatch } from '../../../src/feed/course.ts'
import { OrderLog } from '../../../src/feed/order-log.ts'
import { hashesOf, logOf, orderRule } from '../../support/feed.ts'

/** All that comes from a plan number on. */
function from(course: Course, first: number): PlannedBatch[] {
  const batches: PlannedBatch[] = []
  for (let plan = first; ; plan++) {
    const at = course.at(plan)
    if (typeof at === 'string') return batches
    batches.push(at)
  }
}

const closed = (lengths: readonly number[]): OrderLog => {
  const log = logOf(lengths)
  log.close()
  return log
}

const seen = (batches: readonly PlannedBatch[], epoch: number): number[] =>
  batches.filter((batch) => batch.epoch === epoch).flatMap(({ samples }) => [...samples])

test('course: each epoch has every sample once, in an order of its own', () => {
  const log = closed(Array.from({ length: 512 }, (_, i) => 1 + (i % 200)))
  const batches = from(new Course(log, 3), 0)
  const orders = [0, 1, 2].map((epoch) => seen(batches, epoch))
  for (const order of orders) {
    assert.deepEqual(
      [...order].sort((a, b) => a - b),
      Array.from({ length: 512 }, (_, i) => i),
    )
  }
  assert.notDeepEqual(orders[0], orders[1])
  assert.notDeepEqual(orders[1], orders[2])
  assert.deepEqual(
    batches.map(({ plan }) => plan),
    batches.map((_, i) => i),
  )
  const ends = batches.filter(({ isLastOfEpoch }) => isLastOfEpoch)
  assert.deepEqual(
    ends.map(({ epoch }) => epoch),
    [0, 1, 2],
  )
  assert.equal(ends.at(-1), batches.at(-1))
})

test('course: a cursor at an epoch’s exact end goes on with the next, and no third (B05)', () => {
  // A sample a batch: the cursor counts rows.
  const log = closed(new Array<number>(512).fill(orderRule.tokensPerBatch))
  const resumed = new Course(OrderLog.decode(log.encode()), 2)
  const rest = from(resumed, 512)
  assert.equal(rest.length, 512)
  assert.deepEqual(new Set(rest.map(({ epoch }) => epoch)), new Set([1]))
  assert.equal(new Set(seen(rest, 1)).size, 512)
  assert.equal(from(new Course(log, 2), 0).length, 1024)
  assert.equal(resumed.at(1024), 'finished')
  assert.deepEqual([resumed.batches(0), resumed.batches(1)], [512, 512])
})

test('course: from any plan on it is what it was from the start', () => {
  const log = closed(Array.from({ length: 300 }, (_, i) => 1 + ((i * 7) % 190)))
  const whole = from(new Course(log, 2), 0)
  for (const plan of [1, 17, whole.length - 1]) {
    const again = new Course(OrderLog.decode(log.encode()), 2)
    assert.deepEqual(from(again, plan), whole.slice(plan))
  }
})

test('course: groups come in the order of the log, and stay when more come', () => {
  const log = logOf(new Array<number>(40).fill(100))
  const course = new Course(log, 2)
  const first = from(course, 0)
  // Of the last one known it is not known whether another follows.
  const last = course.at(first.length)
  assert.equal(last, 'later')
  assert.ok(first.every(({ isLastOfEpoch }) => !isLastOfEpoch))
  log.admit(hashesOf(60).subarray(40 * 16), new Uint32Array(20).fill(100))
  const second = from(course, 0)
  assert.deepEqual(second.slice(0, first.length), first)
  log.close()
  const all = from(course, 0)
  assert.deepEqual(all.slice(0, second.length), second)
  assert.deepEqual(
    seen(all, 0)
      .slice(40)
      .sort((a, b) => a - b)[0],
    40,
  )
  assert.equal(new Set(seen(all, 0)).size, 60)
  assert.equal(new Set(seen(all, 1)).size, 60)
  assert.deepEqual(from(new Course(OrderLog.decode(log.encode()), 2), 0), all)
})
