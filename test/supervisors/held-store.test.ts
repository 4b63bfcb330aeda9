import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lockKey } from '../../src/manifest/holder.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { whileHeld } from '../../supervisors/held-store.ts'

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
