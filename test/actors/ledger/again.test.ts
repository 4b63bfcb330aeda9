import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleKey } from '../../../src/manifest/key.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { hashOf, ledgerRig, line, replayed, told } from '../../support/ledger-rig.ts'

/** Samples that the manifest names, and that are computed again all the same. */

const keyOf = ({ hash, crc32 }: { hash: string; crc32: number }) => sampleKey(hash, crc32)

/** What `known` says, as hashes. */
const knownTo = ({ ledger }: { readonly ledger: { known(): Uint8Array } }): string[] =>
  hashesIn(ledger.known())

const hashesIn = (all: Uint8Array): string[] => {
  const bytes = Buffer.from(all)
  const starts = Array.from({ length: bytes.length / 16 }, (_, i) => i * 16)
  return [...new Set(starts.map((at) => bytes.toString('hex', at, at + 16)))].sort()
}

test('ledger: a sample found lost is not known; its fate is said in its round', async (t) => {
  const store = new MemoryStore()
  const [kept, stored, failed] = [hashOf(1), hashOf(2), hashOf(3)]
  await told(store, [
    { ...line(kept), status: 'stored', length: 9, crc32: 1 },
    { ...line(stored), status: 'lost', reason: 'is not there', attempt: 256 },
    { ...line(failed), status: 'lost', reason: 'is not there', attempt: 512 },
  ])
  const rig = await ledgerRig(t, { store })
  await rig.manifest.replay()
  assert.deepEqual(knownTo(rig), [kept])
  const sample = await rig.spooled(2)
  const lease = await rig.lease()
  rig.ledger.stored(lease?.id ?? 0, keyOf(sample))
  rig.ledger.quarantined([{ hash: failed, tokens: 4, reason: 'not finite' }])
  await rig.committer.flush()
  assert.deepEqual(knownTo(rig), [kept, stored, failed].sort())
  const table = await replayed(store)
  assert.deepEqual([table.stored, table.quarantined, table.lost], [2, 1, 0])
  assert.equal(table.get(stored)?.attempt, 256)
  assert.equal(table.get(failed)?.attempt, 512)
})

test('ledger: what is to be tried again is not known until it was tried', async (t) => {
  const store = new MemoryStore()
  const [mended, still, other] = [hashOf(1), hashOf(2), hashOf(3)]
  const quarantined = { status: 'quarantined', reason: 'not finite' } as const
  await told(store, [
    { ...line(mended), ...quarantined },
    { ...line(still), ...quarantined, attempt: 2 },
    { ...line(other), ...quarantined, attempt: 1 },
  ])
  const retry = new Map([
    [mended, 0],
    [still, 2],
    // An earlier attempt than the manifest's: it was tried since.
    [other, 0],
  ])
  const rig = await ledgerRig(t, { store, retry })
  await rig.manifest.replay()
  assert.deepEqual(knownTo(rig), [other])
  const sample = await rig.spooled(1)
  const lease = await rig.lease()
  rig.ledger.stored(lease?.id ?? 0, keyOf(sample))
  for (let tellings = 0; tellings < 2; tellings++) {
    rig.ledger.quarantined([{ hash: still, tokens: 4, reason: 'still not finite' }])
  }
  await rig.committer.flush()
  rig.ledger.quarantined([{ hash: still, tokens: 4, reason: 'told late' }])
  assert.deepEqual(knownTo(rig), [mended, still, other].sort())
  assert.deepEqual((await rig.ledger.settled()).quarantined.toSorted(), [still, other].sort())
  const table = await replayed(store)
  assert.equal(table.get(mended)?.status, 'stored')
  assert.deepEqual([table.get(still)?.attempt, table.get(still)?.reason], [3, 'still not finite'])
  assert.equal(table.get(other)?.attempt, 1)
})

test('ledger: present is what there is a file of, and nothing that is quarantined', async (t) => {
  const store = new MemoryStore()
  await told(store, [
    { ...line(hashOf(1)), status: 'stored', length: 9, crc32: 1 },
    { ...line(hashOf(2)), status: 'quarantined', reason: 'not finite' },
    { ...line(hashOf(3)), status: 'lost', reason: 'is not there', attempt: 256 },
  ])
  const rig = await ledgerRig(t, { store })
  await rig.manifest.replay()
  assert.deepEqual(hashesIn(rig.ledger.present()), [hashOf(1)])
  await rig.spooled(2)
  await rig.spooled(4)
  rig.ledger.failed((await rig.lease())?.id ?? 0, 'denied')
  rig.ledger.quarantined([{ hash: hashOf(5), tokens: 4, reason: 'not finite' }])
  const there = [1, 2, 4].map(hashOf).sort()
  assert.deepEqual(hashesIn(rig.ledger.present()), there)
  assert.deepEqual(knownTo(rig), [...there, hashOf(5)].sort())
})

test('ledger: tried again and refused by the store, a sample has failed and no more', async (t) => {
  const store = new MemoryStore()
  const [refused, other] = [hashOf(1), hashOf(2)]
  const quarantined = { status: 'quarantined', reason: 'not finite' } as const
  await told(store, [
    { ...line(refused), ...quarantined },
    { ...line(other), ...quarantined },
  ])
  const rig = await ledgerRig(t, { store, retry: new Map([[refused, 0]]) })
  await rig.manifest.replay()
  await rig.spooled(1)
  const lease = await rig.lease()
  rig.ledger.failed(lease?.id ?? 0, 'access denied')
  const settled = await rig.ledger.settled()
  assert.deepEqual(settled, { kind: 'settled', failed: [refused], quarantined: [other] })
})

test('ledger: a file that comes for a quarantined sample stays until it is stored', async (t) => {
  const rig = await ledgerRig(t)
  rig.ledger.quarantined([{ hash: hashOf(1), tokens: 1, reason: 'not finite' }])
  const sample = await rig.spooled(1)
  await rig.committer.flush()
  assert.ok(rig.isThere(sample))
  const lease = await rig.lease()
  rig.ledger.stored(lease?.id ?? 0, keyOf(sample))
  await rig.committer.flush()
  assert.ok(!rig.isThere(sample))
  assert.equal((await replayed(rig.store)).get(hashOf(1))?.status, 'stored')
})
