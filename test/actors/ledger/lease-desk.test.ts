import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { leaseDesk } from '../../../actors/ledger/lease-desk.ts'
import { PermitDesk } from '../../../actors/ledger/permit-desk.ts'
import type { Lease, NextLease } from '../../../protocol/ledger.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { sampleKey } from '../../../src/manifest/key.ts'
import { Permits } from '../../../src/store/permits.ts'
import { ledgerRig } from '../../support/ledger-rig.ts'

/** An uploader's desk at a ledger that has so many permits, and so many samples to send. */
async function deskOf(t: TestContext, { max, samples }: { max: number; samples: number }) {
  const clock = new SimulatedClock()
  const rig = await ledgerRig(t, { clock })
  for (let n = 0; n < samples; n++) await rig.spooled(n)
  const permits = new Permits(max, { clock })
  const desk = leaseDesk(rig.ledger, new PermitDesk(permits, 'uploader/0'), 'uploader/0')
  return { ...rig, permits, desk }
}

const leaseIn = (next: NextLease) => {
  if (next.kind !== 'lease') throw new Error('nothing was leased')
  return endOf(next.lease)
}

const endOf = ({ id: lease, permit, sample }: Lease) => ({
  lease,
  permit,
  key: sampleKey(sample.hash, sample.crc32),
})

test('lease desk: a permit goes with a lease where one is free, and comes back', async (t) => {
  const { desk, permits } = await deskOf(t, { max: 1, samples: 3 })
  const first = leaseIn(await desk.next({ wait: false }))
  const second = leaseIn(await desk.next({ wait: false }))
  assert.deepEqual([first.permit, second.permit], [first.lease, null])
  assert.equal(permits.status.open, 1)
  const [third, ...others] = (await desk.stored({ ends: [first], want: 9 })).map(endOf)
  assert.ok(third && others.length === 0)
  assert.deepEqual([third.permit, permits.status.open], [third.lease, 1])
  await desk.torn({ ...third, reason: 'cut' })
  assert.equal(permits.status.open, 0)
})

test('lease desk: who waits for a permit is served before one goes with a lease', async (t) => {
  const { desk, permits } = await deskOf(t, { max: 1, samples: 2 })
  const first = leaseIn(await desk.next({ wait: false }))
  const waiting = permits.acquire('ledger', 'manifest', 1000)
  const [second] = await desk.stored({ ends: [first], want: 1 })
  assert.equal(second?.permit, null)
  const release = await waiting
  release?.('answered')
  assert.equal(permits.status.open, 0)
})

test('lease desk: what was sent is told, and no more is leased than was asked for', async (t) => {
  const { desk, ledger } = await deskOf(t, { max: 9, samples: 4 })
  const first = leaseIn(await desk.next({ wait: false }))
  assert.deepEqual(await desk.stored({ ends: [first], want: 0 }), [])
  const ends = [
    leaseIn(await desk.next({ wait: false })),
    leaseIn(await desk.next({ wait: false })),
  ]
  const last = (await desk.stored({ ends, want: 2 })).map(endOf)
  assert.deepEqual([last.length, ledger.status().uploading], [1, 1])
  // Told twice, as after an answer that was lost: it counts once.
  assert.deepEqual(await desk.stored({ ends: last, want: 1 }), [])
  assert.deepEqual(await desk.stored({ ends: last, want: 1 }), [])
  const { stored, uploading } = ledger.status()
  assert.deepEqual([stored.samples, uploading], [4, 0])
})
