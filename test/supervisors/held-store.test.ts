import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../src/failure.ts'
import { lockKey } from '../../src/manifest/holder.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { solePermits, soleStore } from '../../src/store/patient.ts'
import { whenHeld, whileHeld } from '../../supervisors/held-store.ts'
import { embedded, env } from '../src/store/opening.ts'

test('held store: a process that was suspended removes nothing more', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const store = new MemoryStore()
  let isRemoved = false
  const removing = whileHeld(store, 'gc', async (stillHeld) => {
    stillHeld()
    // As after Ctrl-Z: the wall's clock went on, and no beat.
    t.mock.timers.tick(36_000)
    stillHeld()
    isRemoved = true
  })
  await assert.rejects(removing, { kind: 'unavailable', message: /not renewed in time/ })
  assert.equal(isRemoved, false)
  assert.equal(await store.head(lockKey), undefined)
})

test('held store: a removal that failed is not tried again once the run is lost', async (t) => {
  Object.assign(process.env, env)
  const server = await embedded()
  const place = { url: 's3://bucket/run', s3: { endpoint: server.endpoint, pathStyle: true } }
  const acquire = solePermits(1)
  const store = await soleStore(place, { acquire })
  t.after(() => store.close())
  await store.put('one', Buffer.from('theirs now'))
  const match = { operation: 'DeleteObject' }
  server.faults.push({ kind: 'error', status: 503, code: 'SlowDown', times: 1, match })
  let tries = 0
  const stillHeld = () => {
    if (++tries > 1) throw new Failure('superseded', 'another has taken the run over')
  }
  const held = await soleStore(place, { acquire: whenHeld(acquire, stillHeld) })
  t.after(() => held.close())
  await assert.rejects(held.remove('one'), { kind: 'superseded' })
  assert.equal(tries, 2)
  // The one permit was given back, too.
  assert.ok(await store.head('one'))
})
