import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../../src/failure.ts'
import { isAlive, lockKey, thisHolder } from '../../../src/manifest/holder.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Body, PutOptions } from '../../../src/store/store.ts'
import { passing, rig, start } from './lock-rig.ts'

test('lock: what cannot be read and keeps its place is told, not asked for ever', async () => {
  let isTaken = false
  class Takeable extends MemoryStore {
    override async putIfAbsent(key: string, body: Body): Promise<boolean> {
      return !isTaken && (await super.putIfAbsent(key, body))
    }
  }
  const { acquire, store } = rig([], () => new Takeable())
  const lock = await acquire(start())
  await store.remove(lockKey)
  isTaken = true
  const unreadable = { kind: 'invalid', message: /no lock bears its name/ }
  await assert.rejects(lock.renew(), unreadable)
  await assert.rejects(acquire(start()), unreadable)
})

test('lock: free, it is taken; released, it is gone', async () => {
  const { clock, store, acquire, holder } = rig()
  const me = start()
  const lock = await acquire(me)
  assert.deepEqual(await holder(), { ...me, at: clock.now() })
  clock.advance(10_000)
  await lock.renew()
  assert.deepEqual(await holder(), { ...me, at: clock.now() })
  await lock.release()
  assert.equal(await store.get(lockKey), undefined)
  await lock.release()
})

test('lock: of two starts at one moment, one holds the run', async () => {
  const { clock, acquire } = rig([201, 202])
  const [a, b] = [start({ pid: 201 }), start({ pid: 202 })]
  const outcomes = await passing(clock, Promise.allSettled([acquire(a), acquire(b)]))
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})

test('lock: a holder that lives on this machine is named at once', async () => {
  const { acquire, waits } = rig([77])
  await acquire(start({ pid: 77, writer: 'the-first' }))
  await assert.rejects(acquire(start()), {
    kind: 'superseded',
    message: /host=here, pid=77, writer=the-first/,
  })
  assert.equal(waits.length, 0)
})

test('lock: a dead holder of this boot is replaced at once, even of our own number', async () => {
  const { acquire, holder, waits } = rig([55])
  await acquire(start({ pid: 66 }))
  const second = start({ pid: 55 })
  await acquire(second)
  const third = start({ pid: 55 })
  const lock = await acquire(third)
  await lock.renew()
  assert.equal(JSON.stringify(await holder()).includes(third.nonce), true)
  assert.equal(waits.length, 0)
})

test('lock: alive but silent on this machine is watched: its number may be another’s', async () => {
  const { clock, acquire, waits } = rig([88])
  await acquire(start({ pid: 88 }))
  clock.advance(40_000)
  await passing(clock, acquire(start()))
  assert.ok(waits.length > 0)
})

test('lock: removed by a person, it is written again at the next beat', async () => {
  const { store, acquire, holder } = rig()
  const me = start()
  const lock = await acquire(me)
  await store.remove(lockKey)
  await lock.renew()
  assert.equal(JSON.stringify(await holder()).includes(me.nonce), true)
})

/**
 * Takes conditional puts, but says that it has not: as a client whose first try's answer was lost.
 */
class ForgetfulStore extends MemoryStore {
  override async putIfAbsent(key: string, body: Body, options?: PutOptions): Promise<boolean> {
    await super.putIfAbsent(key, body, options)
    return false
  }

  override async putIfMatch(
    key: string,
    body: Body,
    etag: string,
    options?: PutOptions,
  ): Promise<boolean> {
    await super.putIfMatch(key, body, etag, options)
    return false
  }
}

test('lock: a refused put is read back; with our mark it is ours', async () => {
  const { clock, acquire } = rig([], () => new ForgetfulStore())
  const lock = await acquire(start())
  clock.advance(10_000)
  await lock.renew()
})

test('lock: a store without conditions is warned of, and still names a live holder', async () => {
  const { acquire, warnings } = rig([90])
  const lock = await acquire(start({ pid: 90 }), { conditional: false })
  await lock.renew()
  assert.equal(warnings.length, 1)
  await assert.rejects(acquire(start(), { conditional: false }), { kind: 'superseded' })
})

test('lock: waiting ends when it is told to', async () => {
  const { clock, acquire } = rig()
  await acquire(start({ host: 'there' }))
  const stop = new AbortController()
  clock.setTimeout(() => stop.abort(new Error('stopped')), 5_000)
  await assert.rejects(passing(clock, acquire(start(), { signal: stop.signal })), /stopped/)
})

test('lock: this process is alive, and a start like no other', () => {
  const [a, b] = [thisHolder('w'), thisHolder('w')]
  assert.equal(a.pid, process.pid)
  assert.notEqual(a.nonce, b.nonce)
  assert.equal(isAlive(a), true)
  assert.equal(isAlive({ pid: 2 ** 22 + 1 }), false)
})

test('lock: a holder that may have been given up says so, by whichever clock went on', async () => {
  const { clock, acquire } = rig()
  let monotonic = 0
  const lock = await acquire(start(), { monotonic: () => monotonic })
  const stale = { kind: 'unavailable', message: /not renewed in time.*found=25001 ms/ }
  // A machine that slept: only the wall's clock tells.
  clock.advance(25_000)
  lock.requireFresh()
  clock.advance(1)
  assert.throws(() => lock.requireFresh(), stale)
  await lock.renew()
  lock.requireFresh()
  // The wall's clock was set back, or stands.
  monotonic += 25_001
  assert.throws(() => lock.requireFresh(), stale)
  await lock.renew()
  lock.requireFresh()
})

test('lock: a beat counts from when it was begun, one that failed not at all', async () => {
  let answer = async (): Promise<void> => undefined
  class Late extends MemoryStore {
    override async putIfMatch(...args: Parameters<MemoryStore['putIfMatch']>) {
      await answer()
      return await super.putIfMatch(...args)
    }
  }
  const { clock, acquire } = rig([], () => new Late())
  const lock = await acquire(start())
  clock.advance(10_000)
  answer = async () => clock.advance(20_000)
  await lock.renew()
  lock.requireFresh()
  clock.advance(6_000)
  assert.throws(() => lock.requireFresh(), { kind: 'unavailable' })
  answer = async () => {
    throw new Failure('unavailable', 'the store is away')
  }
  await assert.rejects(lock.renew(), { kind: 'unavailable' })
  assert.throws(() => lock.requireFresh(), { kind: 'unavailable' })
})

test('lock: who held it while we were suspended may have gone: nothing is sure', async () => {
  const { clock, store, acquire } = rig()
  const ours = await acquire(start())
  clock.advance(36_000)
  const theirs = await acquire(start({ host: 'there' }))
  await theirs.release()
  await ours.renew()
  assert.ok(await store.get(lockKey))
  assert.throws(() => ours.requireFresh(), { kind: 'unavailable', message: /was removed/ })
})
