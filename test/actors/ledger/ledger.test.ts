import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import type { SampleRef } from '../../../protocol/sample.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { sampleKey } from '../../../src/manifest/key.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { hashOf, ledgerRig, replayed, spoolSample } from '../../support/ledger-rig.ts'

const keyOf = ({ hash, crc32 }: { hash: string; crc32: number }) => sampleKey(hash, crc32)

test('ledger: a file goes only after a segment names it, and then it goes', async (t) => {
  const store = new MemoryStore()
  const namedAtRemoval: boolean[] = []
  const rig = await ledgerRig(t, {
    store,
    around: (spool) => ({
      ...spool,
      remove: async (sample) => {
        namedAtRemoval.push((await replayed(store)).get(sample.hash)?.status === 'stored')
        await spool.remove(sample)
      },
    }),
  })
  const samples = [await rig.spooled(1), await rig.spooled(2)]
  for (const sample of samples) {
    const lease = await rig.lease()
    rig.ledger.stored(lease?.id ?? 0, keyOf(sample))
    assert.ok(rig.isThere(sample), 'stored, and no segment names it yet')
  }
  assert.deepEqual(namedAtRemoval, [])
  await rig.committer.flush()
  assert.deepEqual(namedAtRemoval, [true, true])
  assert.deepEqual(await readdir(rig.spool.dir), [])
  assert.equal(rig.ledger.status().spool.files, 0)
})

test('ledger: told twice, a sample is counted once and leased once', async (t) => {
  const rig = await ledgerRig(t)
  const sample = await rig.spooled(1)
  await rig.ledger.spooled('extractor/1', [sample])
  assert.ok(await rig.lease())
  assert.equal(await rig.lease(), undefined)
  const { spooled, spool } = rig.ledger.status()
  assert.deepEqual([spooled.samples, spool.files, spool.bytes], [1, 1, sample.bytes])
})

test('ledger: told again after its commit, its file goes and nothing else follows', async (t) => {
  const rig = await ledgerRig(t)
  const sample = await rig.spooled(1)
  const lease = await rig.lease()
  rig.ledger.stored(lease?.id ?? 0, keyOf(sample))
  await rig.committer.flush()
  await rig.spooled(1)
  assert.ok(!rig.isThere(sample))
  assert.equal(await rig.lease(), undefined)
  assert.ok(!rig.ledger.busy)
  assert.equal(rig.ledger.status().spooled.samples, 1)
})

test('ledger: stored told twice is one entry, and so is one of an earlier life', async (t) => {
  const rig = await ledgerRig(t)
  const first = await rig.spooled(1)
  await rig.spooled(2)
  const lease = await rig.lease()
  await rig.lease('uploader/1')
  for (let i = 0; i < 2; i++) rig.ledger.stored(lease?.id ?? 0, keyOf(first))
  rig.ledger.stored(1, keyOf(first))
  assert.equal(rig.committer.waiting, 1)
  assert.equal(rig.ledger.status().uploading, 1)
})

test('ledger: a torn file goes, its sample is known no more, nothing waits for it', async (t) => {
  const rig = await ledgerRig(t)
  const sample = await rig.spooled(1)
  const lease = await rig.lease()
  await rig.ledger.torn(lease?.id ?? 0, 'cut')
  assert.ok(!rig.isThere(sample))
  assert.equal(rig.ledger.known().length, 0)
  assert.deepEqual(await rig.ledger.settled(), { kind: 'settled', failed: [], quarantined: [] })
  await rig.spooled(1)
  assert.ok(await rig.lease(), 'computed again, it is sent')
})

test('ledger: a sample the store refuses stays, named and known; the rest goes on', async (t) => {
  const rig = await ledgerRig(t)
  const refused = await rig.spooled(1)
  const fine = await rig.spooled(2)
  const lease = await rig.lease()
  rig.ledger.failed(lease?.id ?? 0, 'access denied')
  const other = await rig.lease()
  rig.ledger.stored(other?.id ?? 0, keyOf(fine))
  const settled = await rig.ledger.settled()
  assert.deepEqual(settled.failed, [hashOf(1)])
  assert.ok(rig.isThere(refused))
  assert.deepEqual(rig.ledger.status().failed, [{ hash: hashOf(1), reason: 'access denied' }])
  assert.equal(rig.ledger.known().length, 32)
  await rig.spooled(1)
  assert.equal(await rig.lease(), undefined, 'told again, it has failed all the same')
  assert.equal(rig.ledger.status().spool.files, 1)
})

test('ledger: what an upload failed of and may pass goes back to the queue', async (t) => {
  const rig = await ledgerRig(t)
  await rig.spooled(1)
  await rig.spooled(2)
  const lease = await rig.lease()
  rig.ledger.unavailable(lease?.id ?? 0, 'timeout')
  assert.deepEqual(
    [await rig.lease(), await rig.lease()].map((next) => next?.sample.hash),
    [hashOf(2), hashOf(1)],
  )
})

test('ledger: what an uploader had when it ended goes first to the next that asks', async (t) => {
  const rig = await ledgerRig(t)
  for (const n of [1, 2, 3]) await rig.spooled(n)
  const old = await rig.lease('uploader/0')
  rig.ledger.askerEnded('uploader/0')
  const again = await rig.lease('uploader/1')
  assert.equal(again?.sample.hash, hashOf(1))
  assert.notEqual(again?.id, old?.id)
})

test('ledger: the quarantined are committed with their reason, once', async (t) => {
  const rig = await ledgerRig(t)
  const bad = { hash: hashOf(7), tokens: 3, reason: 'not finite' }
  rig.ledger.quarantined([bad])
  rig.ledger.quarantined([bad])
  assert.equal(rig.ledger.known().length, 16)
  assert.ok(rig.ledger.busy)
  assert.deepEqual((await rig.ledger.settled()).quarantined, [hashOf(7)])
  rig.ledger.quarantined([bad])
  assert.ok(!rig.ledger.busy)
  const entry = (await replayed(rig.store)).get(hashOf(7))
  assert.deepEqual([entry?.status, entry?.reason, entry?.tokens], ['quarantined', 'not finite', 3])
})

test('ledger: a sample whose file waits is never quarantined, nor its file removed', async (t) => {
  const rig = await ledgerRig(t)
  const sample = await rig.spooled(1)
  rig.ledger.quarantined([{ hash: sample.hash, tokens: 1, reason: 'it ended its extractor' }])
  await rig.committer.flush()
  assert.ok(rig.isThere(sample))
  assert.equal(rig.committer.segments, 0)
})

test('ledger: of what a crash left, the committed goes and the rest is sent', async (t) => {
  const rig = await ledgerRig(t)
  const committed = await rig.spooled(1)
  const lease = await rig.lease()
  rig.ledger.stored(lease?.id ?? 0, keyOf(committed))
  await rig.committer.flush()
  await rig.ledger.recovered(await spoolSample(rig.spool, 1))
  const left = await spoolSample(rig.spool, 2)
  await rig.ledger.recovered(left)
  const twin = await spoolSample(rig.spool, 2, 'other bits')
  await rig.ledger.recovered(twin)
  assert.ok(!rig.isThere(committed))
  assert.ok(rig.isThere(left) && !rig.isThere(twin))
  const { toSend, spooled } = rig.ledger.status()
  assert.deepEqual([toSend, spooled.samples], [1, 1], 'spooled: since this start')
  assert.equal((await rig.lease())?.sample.crc32, left.crc32)
  assert.equal(await rig.lease(), undefined)
})

test('ledger: settled answers later while something is under way', async (t) => {
  const rig = await ledgerRig(t)
  await rig.spooled(1)
  await rig.lease()
  assert.equal((await rig.ledger.settled()).kind, 'later')
})

test('ledger: a full spool makes extraction wait, says so, and lets it go on', async (t) => {
  const rig = await ledgerRig(t, { limits: { maxBytes: 10, keepFree: 0 } })
  assert.equal(await rig.ledger.room('extractor/0', 8), true)
  const sample = await rig.spooled(1)
  assert.equal(await rig.ledger.room('extractor/0', 8), false)
  assert.match(rig.ledger.status().spool.full ?? '', /^spool.maxBytes is reached/)
  const lease = await rig.lease()
  rig.ledger.stored(lease?.id ?? 0, keyOf(sample))
  // What is stored lies there until its commit, which the wait for room begins. The clock is hasty,
  // the disk is not.
  let asked = 0
  while (!(await rig.ledger.room('extractor/0', 8))) assert.ok(++asked < 1000)
  assert.equal(rig.ledger.status().spool.full, null)
  assert.equal(rig.committer.segments, 1)
})

test('ledger: who waits for room has no segment written that makes none, or few', async (t) => {
  const clock = new SimulatedClock()
  const rig = await ledgerRig(t, { clock, limits: { maxBytes: 20, keepFree: 0 } })
  const samples: SampleRef[] = []
  for (let n = 1; n <= 6; n++) samples.push(await rig.spooled(n))
  const store = async (count: number) => {
    for (const sample of samples.splice(0, count)) {
      rig.ledger.stored((await rig.lease())?.id ?? 0, keyOf(sample))
    }
  }
  /** Asks, and waits as long as an answer may take. */
  const asks = async (bytes: number) => {
    const answer = rig.ledger.room('extractor/0', bytes)
    for (let i = 0; i < 60; i++) {
      await turn()
      clock.advance(100)
    }
    return { segments: rig.committer.segments, room: await answer }
  }
  const none = { segments: 0, room: false }
  await store(1)
  assert.deepEqual(await asks(6), none, 'its file would make too little room')
  await store(1)
  assert.deepEqual(await asks(6), none, 'more is still to be sent')
  await store(2)
  assert.deepEqual(await asks(20), none, 'room for so much needs the rest too')
  assert.deepEqual(await asks(6), { segments: 1, room: true })
  assert.equal(rig.committer.waiting, 0)
})

test('ledger: what other programs write makes the next batch wait', async (t) => {
  const looks = [1000, 999, 1000]
  const rig = await ledgerRig(t, {
    limits: { maxBytes: 1000, keepFree: 900 },
    free: async () => looks.shift() ?? 1000,
  })
  assert.equal(await rig.ledger.room('extractor/0', 100), true)
  assert.equal(await rig.ledger.room('extractor/0', 100), true)
  assert.equal(looks.length, 0, 'it looked again after the second')
})

test('ledger: what a writer left untold when it ended is counted, and sent once', async (t) => {
  const clock = new SimulatedClock()
  const rig = await ledgerRig(t, { clock, limits: { maxBytes: 10, keepFree: 0 } })
  assert.equal(await rig.ledger.room('extractor/0', 8), true)
  const left = await spoolSample(rig.spool, 1)
  rig.ledger.askerEnded('extractor/0')
  assert.equal(rig.ledger.status().spool.files, 0)
  // Its grant stands for the file until that is counted: nobody else may write in its place.
  const waiting = rig.ledger.room('extractor/1', 8)
  for (let i = 0; i < 60; i++) {
    await turn()
    clock.advance(100)
  }
  assert.equal(await waiting, false)
  const { spool, spooled } = rig.ledger.status()
  assert.deepEqual([spool.files, spool.bytes, spooled.samples], [1, left.bytes, 1])
  assert.equal(await rig.ledger.room('extractor/1', 10 - left.bytes), true)
  await rig.ledger.spooled('extractor/0', [left])
  assert.equal(rig.ledger.status().spool.files, 1)
  assert.equal((await rig.lease())?.sample.hash, left.hash)
  assert.equal(await rig.lease(), undefined)
})

test('ledger: a writer that starts again has its old grant replaced', async (t) => {
  const rig = await ledgerRig(t, { limits: { maxBytes: 10, keepFree: 0 } })
  for (let i = 0; i < 3; i++) {
    assert.equal(await rig.ledger.room('extractor/0', 10), true)
    rig.ledger.askerEnded('extractor/0')
  }
})

/** A little real time: files are read meanwhile. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 2))

test('ledger: a store is lost when it was silent too long while something waited', async (t) => {
  const clock = new SimulatedClock()
  const rig = await ledgerRig(t, { clock })
  const minute = 60_000
  clock.advance(100 * minute)
  assert.equal(rig.ledger.whyLost(30), null, 'nothing waits')
  const sample = await rig.spooled(1)
  clock.advance(29 * minute)
  assert.equal(rig.ledger.whyLost(30), null, 'it waits since 29 minutes')
  clock.advance(2 * minute)
  assert.match(rig.ledger.whyLost(30) ?? '', /taken nothing for 30 minutes/)
  const lease = await rig.lease()
  rig.ledger.stored(lease?.id ?? 0, keyOf(sample))
  assert.equal(rig.ledger.whyLost(30), null, 'it has answered')
})

test('ledger: a store that refuses a hundred in a row is lost', async (t) => {
  const rig = await ledgerRig(t)
  const refuse = async (from: number, count: number) => {
    for (let n = from; n < from + count; n++) {
      await rig.spooled(n)
      const lease = await rig.lease()
      rig.ledger.failed(lease?.id ?? 0, `denied ${n}`)
    }
  }
  await refuse(0, 99)
  assert.equal(rig.ledger.whyLost(30), null)
  const fine = await rig.spooled(1000)
  const lease = await rig.lease()
  rig.ledger.stored(lease?.id ?? 0, keyOf(fine))
  await refuse(2000, 99)
  assert.equal(rig.ledger.whyLost(30), null)
  await refuse(3000, 1)
  assert.match(rig.ledger.whyLost(30) ?? '', /refused 100 samples in a row, the last: denied 3000/)
})
