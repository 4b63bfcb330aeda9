import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom, sleep } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { limited, type Outcome } from '../../../src/store/limited.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { retrying } from '../../../src/store/retry.ts'
import { Throttled } from '../../../src/store/throttled.ts'
import { keysOf } from './contents.ts'
import { HastyClock } from './hasty-clock.ts'
import { embedded, s3At } from './opening.ts'

/** So many permits, and what became of them. */
class Permits {
  open = 0
  peak = 0
  given = 0
  readonly #max: number
  readonly #waiting: (() => void)[] = []

  constructor(max: number) {
    this.#max = max
  }

  readonly acquire = async (): Promise<() => void> => {
    while (this.open >= this.#max) await new Promise<void>((go) => this.#waiting.push(go))
    this.open += 1
    this.given += 1
    this.peak = Math.max(this.peak, this.open)
    return () => {
      this.open -= 1
      this.#waiting.shift()?.()
    }
  }
}

test('limited: 70 permits are used to the last, and never a 71st', async () => {
  const server = await embedded()
  server.faults.push({ times: 70, kind: 'stall' })
  const permits = new Permits(70)
  const store = limited(s3At(server.endpoint), permits.acquire)
  const stalled = new AbortController()
  const puts = Array.from({ length: 210 }, (_, i) =>
    store.put(`k${i}`, Buffer.from(`k${i}`), i < 70 ? { signal: stalled.signal } : {}),
  )
  const ended = Promise.allSettled(puts)
  // More than the 50 sockets to which clients keep by default.
  const deadline = Date.now() + 20_000
  while (server.stats.open < 70 && Date.now() < deadline) await sleep(5)
  stalled.abort(new Error('waited long enough'))
  const stored = (await ended).filter(({ status }) => status === 'fulfilled')
  assert.equal(stored.length, 140)
  assert.deepEqual([permits.peak, server.stats.peak], [70, 70])
  assert.equal(permits.open, 0)
})

test('limited: a request that fails gives its permit back and waits without one', async () => {
  const permits = new Permits(1)
  const openWhileWaiting: number[] = []
  class Flaky extends MemoryStore {
    tries = 0
    override async head(): Promise<undefined> {
      assert.equal(permits.open, 1)
      this.tries += 1
      if (this.tries % 3 !== 0) throw new Failure('unavailable', 'busy')
    }
  }
  const store = retrying(limited(new Flaky(), permits.acquire), {
    attempts: 10,
    clock: new HastyClock(),
    random: seededRandom(1),
    onRetry: () => openWhileWaiting.push(permits.open),
  })
  for (let i = 0; i < 5; i++) await store.head('k')
  assert.equal(permits.given, 15)
  assert.equal(permits.open, 0)
  assert.deepEqual(
    openWhileWaiting,
    Array.from({ length: 10 }, () => 0),
  )
})

test('limited: a request that is given up counts as open until its socket is closed', async () => {
  const server = await embedded()
  server.faults.push({ times: 20, kind: 'stall' })
  const permits = new Permits(4)
  const s3 = s3At(server.endpoint, { timeouts: { attemptMs: 1000 } })
  const store = retrying(limited(s3, permits.acquire), {
    attempts: 300,
    clock: new HastyClock(),
    random: seededRandom(2),
  })
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}`)
  await Promise.all(keys.map((key) => store.put(key, Buffer.from(key))))
  // The twenty that stalled, and on a busy machine others that were too slow.
  assert.ok(permits.given >= 60, `given=${permits.given}`)
  assert.equal(permits.open, 0)
  assert.equal(server.stats.peak, 4)
})

test('limited: a listing takes a permit for each page, a part one for itself', async () => {
  const permits = new Permits(1)
  const inner = new MemoryStore({ pageKeys: 2 })
  for (const key of ['a', 'b', 'c', 'd', 'e']) await inner.put(key, Buffer.from(key))
  const store = limited(inner, permits.acquire)
  assert.equal((await keysOf(store.list(''))).length, 5)
  assert.equal(permits.given, 3)
  const upload = await store.startMultipart('big')
  await upload.complete([await upload.putPart(1, Buffer.from('x'))])
  assert.equal(permits.given, 6)
})

test('limited: whoever gives the permit is told how its request ended', async () => {
  const ends = new Map<string, () => Error>([
    ['slow down', () => new Throttled('slow down', { retryAfterMs: 0 })],
    ['denied', () => new Failure('invalid', 'denied')],
    ['cut', () => new Failure('unavailable', 'the connection was cut')],
    ['bug', () => new TypeError('bug')],
  ])
  class Ending extends MemoryStore {
    override async head(key: string): Promise<undefined> {
      const end = ends.get(key)
      if (end) throw end()
    }
  }
  const outcomes: Outcome[] = []
  const store = limited(new Ending(), async () => (outcome) => outcomes.push(outcome))
  for (const key of ['there', ...ends.keys()]) await store.head(key).catch(() => undefined)
  const stopped = AbortSignal.abort(new Error('given up'))
  await store.put('k', Buffer.from('x'), { signal: stopped }).catch(() => undefined)
  assert.deepEqual(outcomes, ['answered', 'throttled', 'answered', 'lost', 'lost', 'lost'])
})
