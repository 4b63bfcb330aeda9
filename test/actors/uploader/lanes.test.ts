import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { leaseDesk } from '../../../actors/ledger/lease-desk.ts'
import { PermitDesk } from '../../../actors/ledger/permit-desk.ts'
import { Lanes } from '../../../actors/uploader/lanes.ts'
import { PermitsInHand } from '../../../actors/uploader/permits-in-hand.ts'
import { SpoolReader } from '../../../actors/uploader/read.ts'
import { type Uploaded, upload } from '../../../actors/uploader/upload.ts'
import type { SampleRef } from '../../../protocol/sample.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { Permits } from '../../../src/store/permits.ts'
import { faultyPuts } from '../../support/faulty-store.ts'
import { hashOf, ledgerRig, replayed } from '../../support/ledger-rig.ts'
import { ledgerPeer } from '../../support/peers.ts'

/**
 * Lanes on a real ledger, over a port; `send` in place of an upload. No time passes for the ledger:
 * whoever waits for it waits for ever, unless he is answered.
 */
async function lanesOn(t: TestContext, upload: (sample: SampleRef) => Promise<Uploaded>) {
  const clock = new SimulatedClock()
  const rig = await ledgerRig(t, { clock })
  const permits = new Permits(100, { clock })
  const desk = new PermitDesk(permits, 'uploader/0')
  const peer = ledgerPeer(t, leaseDesk(rig.ledger, desk, 'uploader/0'))
  const lanes = new Lanes(peer, { upload, permits: new PermitsInHand(peer) })
  return { ...rig, lanes, permits }
}

const reader = new SpoolReader()
const later = () => new Promise((resolve) => setTimeout(resolve, 5))

test('lanes: all that is spooled is sent, so many at once and no more', async (t) => {
  const store = new MemoryStore()
  let open = 0
  let peak = 0
  const rig = await lanesOn(t, async (sample) => {
    peak = Math.max(peak, ++open)
    await later()
    const uploaded = await upload(sample, { store, path: rig.spool.path, reader, storeSums: false })
    open -= 1
    return uploaded
  })
  for (let n = 0; n < 20; n++) await rig.spooled(n)
  rig.lanes.resize(4)
  await rig.lanes.drain()
  assert.equal(peak, 4)
  assert.equal(rig.lanes.busy, 0)
  assert.deepEqual([rig.permits.status.open, rig.permits.status.peak], [0, 4])
  await rig.committer.flush()
  assert.equal((await replayed(rig.store)).stored, 20)
  assert.deepEqual(await readdir(rig.spool.dir), [])
})

test('lanes: each end of an upload is told, and what may pass is sent again', async (t) => {
  const faults = [new Failure('unavailable', 'timeout'), new Failure('invalid', 'denied')]
  const faulty = faultyPuts(new MemoryStore(), faults)
  const rig = await lanesOn(t, (sample) =>
    upload(sample, { store: faulty.store, path: rig.spool.path, reader, storeSums: false }),
  )
  for (const n of [1, 2]) await rig.spooled(n)
  const torn = await rig.spooled(3)
  await rig.spool.discard((await readdir(rig.spool.dir)).find((f) => f.startsWith(torn.hash)) ?? '')
  rig.lanes.resize(1)
  await rig.lanes.drain()
  const { failed, stored, uploading } = rig.ledger.status()
  assert.deepEqual(failed, [{ hash: hashOf(2), reason: 'denied' }])
  assert.deepEqual([stored.samples, uploading], [1, 0])
  assert.equal(rig.permits.status.open, 0)
  assert.equal(rig.ledger.known().length, 32, 'the torn one is known no more')
})

test('lanes: those that wait for work do not keep a drain', async (t) => {
  const rig = await lanesOn(t, () => Promise.reject(new Error('nothing is to be sent')))
  rig.lanes.resize(3)
  await later()
  await rig.lanes.drain()
  assert.equal(rig.ledger.status().uploading, 0)
})

test('lanes: raised in mid-work more go at once; lowered, those beyond end', async (t) => {
  let open = 0
  const waiting: (() => void)[] = []
  const rig = await lanesOn(t, async () => {
    open += 1
    await new Promise<void>((resolve) => waiting.push(resolve))
    open -= 1
    return { kind: 'failed', reason: 'none is sent here' }
  })
  const isOpen = async (count: number) => {
    for (let i = 0; open !== count && i < 1000; i++) await later()
    assert.equal(open, count)
  }
  for (let n = 0; n < 20; n++) await rig.spooled(n)
  rig.lanes.resize(2)
  await isOpen(2)
  rig.lanes.resize(6)
  await isOpen(6)
  rig.lanes.resize(3)
  assert.equal(rig.lanes.count, 3)
  for (const finish of waiting.splice(0, 6)) finish()
  await isOpen(3)
  const drained = rig.lanes.drain()
  const finishing = setInterval(() => {
    for (const finish of waiting.splice(0)) finish()
  }, 5)
  await drained
  clearInterval(finishing)
  assert.equal(rig.ledger.status().failed.length, 20)
})
