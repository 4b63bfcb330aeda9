import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockOf, passing, rig, start } from './lock-rig.ts'

/** Locks of holders that this machine cannot see: only their beats tell whether they live. */

test('lock: a holder elsewhere that beats is found alive, after some waiting', async () => {
  const { clock, acquire, waits } = rig()
  const far = await acquire(start({ host: 'there' }))
  const beat = () => {
    void far.renew()
    clock.setTimeout(beat, 10_000)
  }
  clock.setTimeout(beat, 10_000)
  clock.advance(5_000)
  await assert.rejects(passing(clock, acquire(start())), {
    kind: 'superseded',
    message: /host=there/,
  })
  assert.ok(waits.length >= 1)
  assert.equal(waits[0]?.holder.host, 'there')
})

test('lock: a holder in another container, of the same name and number, lives', async () => {
  const { clock, acquire } = rig()
  const far = await acquire(start({ pid: 1, pidSpace: 'pid:[1]' }))
  const beat = () => {
    void far.renew()
    clock.setTimeout(beat, 10_000)
  }
  clock.setTimeout(beat, 10_000)
  const here = start({ pid: 1, pidSpace: 'pid:[2]' })
  await assert.rejects(passing(clock, acquire(here)), { kind: 'superseded', message: /pid=1/ })
  await far.renew()
})

test('lock: a holder elsewhere, or of an earlier boot, that is silent is replaced', async () => {
  for (const of of [{ host: 'there' }, { bootId: 'boot-0' }, { pidSpace: 'pid:[1]' }]) {
    const { clock, acquire, waits } = rig([300])
    const gone = await acquire(start({ ...of, pid: 300 }))
    const lock = await passing(clock, acquire(start()))
    assert.ok(waits.length >= 3, `waits=${waits.length}`)
    await lock.renew()
    await assert.rejects(gone.renew(), { kind: 'superseded' })
    await gone.release()
    await lock.renew()
  }
})

test('lock: a beat older than its time to live is not waited for', async () => {
  const { clock, acquire, waits } = rig()
  await acquire(start({ host: 'there' }))
  clock.advance(40_000)
  await acquire(start())
  assert.equal(waits.length, 0)
})

test('lock: who comes with a clock that is ahead waits for a holder that lives', async () => {
  const { clock, acquire, waits } = rig()
  const far = await acquire(start({ host: 'there' }))
  const beat = () => {
    void far.renew()
    clock.setTimeout(beat, 10_000)
  }
  clock.setTimeout(beat, 10_000)
  const ahead = { ...clockOf(clock), now: () => clock.now() + 3_600_000 }
  await assert.rejects(passing(clock, acquire(start(), { clock: ahead })), { kind: 'superseded' })
  assert.ok(waits.length >= 1)
})

test('lock: a clock that is set forward while a holder is watched makes it no older', async () => {
  const { clock, acquire } = rig()
  const far = await acquire(start({ host: 'there' }))
  clock.setTimeout(() => void far.renew(), 15_000)
  const setAt = clock.now() + 5_000
  const wall = { ...clockOf(clock), now: () => clock.now() + (clock.now() < setAt ? 0 : 3_600_000) }
  await assert.rejects(passing(clock, acquire(start(), { clock: wall })), { kind: 'superseded' })
})

test('lock: one that is released while it is watched is taken', async () => {
  const { clock, acquire } = rig()
  const far = await acquire(start({ host: 'there' }))
  clock.setTimeout(() => void far.release(), 12_000)
  await passing(clock, acquire(start()))
})
