import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure, isFailure } from '../../../src/failure.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { batchesFrom, fed, feedRig, rowOf } from '../../support/feed.ts'
import { HastyClock } from '../store/hasty-clock.ts'

const rows = Array.from({ length: 30 }, (_, n) => rowOf(n, 20 + n))

/** Refuses samples as long as it is told to. */
class Away extends MemoryStore {
  failure: Failure | undefined
  gets = 0
  /** So many gets fail. */
  left = Number.POSITIVE_INFINITY

  override async get(key: string, range?: { readonly start: number; readonly end: number }) {
    if (key.startsWith('hidden-states/')) {
      this.gets++
      if (this.failure && this.left-- > 0) throw this.failure
    }
    return await super.get(key, range)
  }
}

test('feed: while the store is away no sample is left out; then all goes on', async (t) => {
  const store = new Away()
  const { open } = await feedRig(t, rows, { store, clock: new HastyClock() })
  const opened = await open()
  await opened.feed.begin('t', null)
  store.failure = new Failure('unavailable', 'gone for a while')
  store.left = 40
  const batches = await batchesFrom(opened)
  assert.equal(batches.flatMap((batch) => batch.rows).length, 60)
  assert.deepEqual([opened.leftOut.count, opened.whyAway()], [0, null])
})

test('feed: a store that stays away past the deadline is told, and may come back', async (t) => {
  const store = new Away()
  const { open } = await feedRig(t, rows, { store, clock: new HastyClock() })
  const opened = await open()
  await opened.feed.begin('t', null)
  store.failure = new Failure('unavailable', 'gone for good')
  await assert.rejects(
    fed(opened, 0),
    (error) => isFailure(error, 'unavailable') && /stays out of reach/.test(error.message),
  )
  assert.match(opened.whyAway() ?? '', /gone for good/)
  store.failure = undefined
  assert.equal((await batchesFrom(opened)).flatMap((batch) => batch.rows).length, 60)
  assert.equal(opened.leftOut.count, 0)
})

test('feed: a store that refuses is told at once', async (t) => {
  const store = new Away()
  const { open } = await feedRig(t, rows, { store, clock: new HastyClock() })
  const opened = await open()
  await opened.feed.begin('t', null)
  store.failure = new Failure('invalid', 'access denied')
  await assert.rejects(fed(opened, 0), (error) => isFailure(error, 'invalid'))
})
