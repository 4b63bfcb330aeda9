import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../../src/clock.ts'
import { encodeHolder, lockKey } from '../../../src/manifest/holder.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { passing, rig, start } from './lock-rig.ts'

/** A lock that cannot be read, as a crash of its holder, or of the store, may leave it. */

const halves = ['', '{"writer":', JSON.stringify({ ...start(), at: 1e300 }), '\0\0\0\0']

test('lock: half of one is waited for as any holder elsewhere, then replaced', async () => {
  for (const half of halves) {
    const { clock, store, acquire, holder, waits, warnings } = rig()
    await store.put(lockKey, Buffer.from(half))
    const me = start()
    await passing(clock, acquire(me))
    assert.ok(waits.length > 0)
    assert.equal(JSON.stringify(await holder()).includes(me.nonce), true)
    assert.match(warnings.join(), /cannot be read, as a crash may leave it/)
  }
})

test('lock: half of one that is old by the store’s clock is replaced at once', async () => {
  const { clock, store, acquire, waits } = rig()
  await store.put(lockKey, Buffer.from('{"writer":'))
  clock.advance(40_000)
  await acquire(start())
  assert.equal(waits.length, 0)
})

test('lock: whoever writes halves lives all the same, of one content too', async () => {
  for (const next of ['{"writer":', '{"writ', JSON.stringify({ ...start(), at: 5 })]) {
    const { clock, store, acquire } = rig()
    await store.put(lockKey, Buffer.from('{"writer":'))
    clock.setTimeout(() => void store.put(lockKey, Buffer.from(next)), 5_000)
    await assert.rejects(passing(clock, acquire(start())), { kind: 'superseded' })
  }
})

/** Keeps the first half of all that is put. */
class Halving extends MemoryStore {
  halves = true

  override async putIfMatch(key: string, body: Buffer, etag: string): Promise<boolean> {
    return await super.putIfMatch(
      key,
      this.halves ? body.subarray(0, body.length >> 1) : body,
      etag,
    )
  }
}

test('lock: half of our own beat is ours; half of another’s is nobody’s we know', async () => {
  const halving: Halving[] = []
  const { clock, acquire, holder, store } = rig([], (clock: Clock) => {
    const made = new Halving({ clock })
    halving.push(made)
    return made
  })
  const me = start()
  const lock = await acquire(me)
  for (const halves of [true, true, false]) {
    for (const one of halving) one.halves = halves
    clock.advance(10_000)
    await lock.renew()
    lock.requireFresh()
  }
  assert.deepEqual(await holder(), { ...me, at: clock.now() })

  const another = encodeHolder({ ...start(), at: clock.now() })
  await store.put(lockKey, another.subarray(0, 40))
  await assert.rejects(lock.renew(), { kind: 'unavailable', message: /cannot be read/ })
  await store.put(lockKey, another)
  await assert.rejects(lock.renew(), { kind: 'superseded' })
})
