import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Clock, SimulatedClock } from '../../../src/clock.ts'
import { explain, Failure, isFailure } from '../../../src/failure.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { type RetryOptions, retrying } from '../../../src/store/retry.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { Throttled } from '../../../src/store/throttled.ts'
import { HastyClock } from './hasty-clock.ts'

const busy = (): Failure => new Failure('unavailable', 'busy', { remedy: 'Wait.' })

/** A store whose heads end as told, one after the other; then there is nothing to find. */
class Scripted extends MemoryStore {
  asked = 0
  readonly #ends: (() => Error)[]

  constructor(...ends: (() => Error)[]) {
    super()
    this.#ends = ends
  }

  override async head(): Promise<undefined> {
    this.asked += 1
    const end = this.#ends.shift()
    if (end) throw end()
  }
}

const wrap = (store: ObjectStore, options: Partial<RetryOptions> & { readonly clock: Clock }) =>
  retrying(store, { attempts: 10, random: () => 0.999_999, ...options })

test('retry: waits double from 100 ms to 5 s, under full jitter', async () => {
  const told: number[] = []
  const clock = new HastyClock()
  const store = new Scripted(...Array.from({ length: 8 }, () => busy))
  const onRetry = ({ delayMs }: { delayMs: number }) => told.push(Math.round(delayMs))
  assert.equal(await wrap(store, { clock, onRetry }).head('k'), undefined)
  assert.deepEqual(told, [100, 200, 400, 800, 1600, 3200, 5000, 5000])
  const half: number[] = []
  const other = new Scripted(busy, busy)
  await wrap(other, {
    clock,
    random: () => 0.5,
    onRetry: ({ delayMs }) => half.push(delayMs),
  }).head('k')
  assert.deepEqual(half, [50, 100])
})

test('retry: only what is unavailable is tried again', async () => {
  const clock = new HastyClock()
  for (const kind of ['invalid', 'corrupt', 'superseded'] as const) {
    const store = new Scripted(() => new Failure(kind, 'no'))
    await assert.rejects(wrap(store, { clock }).head('k'), (e) => isFailure(e, kind))
    assert.equal(store.asked, 1)
  }
  const bug = new Scripted(() => new TypeError('bug'))
  await assert.rejects(wrap(bug, { clock }).head('k'), TypeError)
  assert.equal(bug.asked, 1)
})

test('retry: after the last attempt it names attempts, time, cause and remedy', async () => {
  const store = new Scripted(...Array.from({ length: 9 }, () => busy))
  await assert.rejects(wrap(store, { clock: new HastyClock(), attempts: 4 }).head('k'), (error) => {
    assert.ok(isFailure(error, 'unavailable'))
    assert.match(explain(error), /stays unavailable. attempts=4, seconds=\d+\.\d: busy/)
    assert.equal(error.remedy, 'Wait.')
    return true
  })
  assert.equal(store.asked, 4)
})

test('retry: no try starts after the deadline', async () => {
  const store = new Scripted(...Array.from({ length: 99 }, () => busy))
  const clock = new HastyClock()
  const within = wrap(store, { clock, attempts: 1000, deadlineMs: 60_000 })
  await assert.rejects(within.head('k'), (e) => isFailure(e, 'unavailable'))
  assert.ok(clock.now() <= 60_000)
  assert.ok(store.asked > 10 && store.asked < 30, `asked=${store.asked}`)
})

test('retry: Retry-After is waited out', async () => {
  const clock = new HastyClock()
  const told: number[] = []
  const store = new Scripted(() => new Throttled('slow down', { retryAfterMs: 7_000 }))
  await wrap(store, { clock, onRetry: ({ delayMs }) => told.push(delayMs) }).head('k')
  assert.deepEqual(told, [7_000])
  assert.ok(clock.now() >= 7_000)
})

test('retry: while failures run all requests share a pause, and a success ends it', async () => {
  const clock = new SimulatedClock()
  const store = new Scripted(busy, busy)
  const wrapped = wrap(store, { clock })
  const first = wrapped.head('first')
  await turn()
  assert.equal(store.asked, 1)
  // Nothing has failed for this one, yet it is not sent while the pause lasts.
  const second = wrapped.head('second')
  await turn()
  assert.equal(store.asked, 1)
  for (let i = 0; i < 20; i++) {
    clock.advance(100)
    await turn()
  }
  await Promise.all([first, second])
  assert.equal(store.asked, 4)
  const third = wrapped.head('third')
  await turn()
  assert.equal(store.asked, 5)
  await third
})

test('retry: a hundred failures at once lengthen the pause once', async () => {
  const clock = new HastyClock()
  const store = new Scripted(...Array.from({ length: 100 }, () => busy))
  const wrapped = wrap(store, { clock })
  await Promise.all(Array.from({ length: 100 }, () => wrapped.head('k')))
  assert.equal(store.asked, 200)
  assert.ok(Math.max(...clock.waitsMs) <= 300, `longest=${Math.max(...clock.waitsMs)}`)
})

test('retry: who gives up while waiting gets its own reason', async () => {
  const clock = new SimulatedClock()
  class Down extends MemoryStore {
    override async put(): Promise<never> {
      throw busy()
    }
  }
  const stop = new AbortController()
  const put = wrap(new Down(), { clock }).put('k', Buffer.from('x'), { signal: stop.signal })
  await turn()
  stop.abort(new Error('stopped'))
  await assert.rejects(put, { message: 'stopped' })
})
