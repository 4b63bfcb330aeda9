import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep, systemClock } from '../../src/clock.ts'
import { lockKey } from '../../src/manifest/holder.ts'
import { acquireLock } from '../../src/manifest/lock.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { keepLock } from '../../supervisors/lock-beat.ts'
import { silent } from '../support/ledger-rig.ts'

/** A store whose answers about the lock a test may hold back; counts those that are open. */
class Slow extends MemoryStore {
  open = 0
  peak = 0
  until: Promise<void> | undefined

  override async head(key: string) {
    this.peak = Math.max(this.peak, ++this.open)
    await this.until
    this.open--
    return await super.head(key)
  }
}

const holdLock = (store: MemoryStore, nonce: string) =>
  acquireLock(
    store,
    { writer: 'w', host: nonce, bootId: nonce, pid: 1, nonce },
    { clock: systemClock, isAlive: () => true, conditional: true, beatMs: 2, ttlMs: 0 },
  )

test('lock: to a slow store one beat goes at a time, and none is left when it ends', async () => {
  const store = new Slow()
  const beat = keepLock(await holdLock(store, 'a'), {
    log: silent,
    onLost: () => assert.fail('nobody else wants it'),
  })
  let answer: () => void = () => undefined
  store.until = new Promise<void>((resolve) => {
    answer = resolve
  })
  while (store.open === 0) await sleep(1)
  await sleep(20)
  const released = beat.release()
  answer()
  await released
  assert.equal(store.peak, 1)
  assert.equal(await store.head(lockKey), undefined)
})

test('lock: when another has taken the run over, that is told, and his lock stays', async () => {
  const store = new MemoryStore()
  const first = await holdLock(store, 'a')
  await sleep(1)
  await holdLock(store, 'b')
  let lost = 0
  const beat = keepLock(first, { log: silent, onLost: () => lost++ })
  while (lost === 0) await sleep(1)
  await beat.release()
  assert.ok(await store.head(lockKey))
})
