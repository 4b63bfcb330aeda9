import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TrainingBatch } from '../../../src/feed/training-batch.ts'
import { batchesFrom, fed, feedRig, rowOf } from '../../support/feed.ts'
import { told } from '../../support/ledger-rig.ts'
import { HastyClock } from '../store/hasty-clock.ts'

const rows = Array.from({ length: 60 }, (_, n) => rowOf(n, 60))
const hashesIn = (batches: readonly TrainingBatch[]): string[] =>
  batches.flatMap((batch) => batch.rows.map(({ hash }) => hash))

/** Sixteen samples a batch. */
async function following(t: Parameters<typeof feedRig>[0], stored: number) {
  const rig = await feedRig(t, rows, {
    stored,
    clock: new HastyClock(),
    input: { follows: true },
  })
  const open = async () => {
    const opened = await rig.open()
    await opened.feed.begin('t', null)
    return opened
  }
  return { ...rig, open }
}

/** As many batches as there are now. */
async function now(opened: Awaited<ReturnType<Awaited<ReturnType<typeof following>>['open']>>) {
  const batches: TrainingBatch[] = []
  for (let plan = 0; ; plan++) {
    // A batch may be under way; that nothing is planned shows by asking a few times.
    let found = await opened.feed.next(plan)
    for (let asked = 0; found === 'later' && asked < 50; asked++)
      found = await opened.feed.next(plan)
    if (typeof found === 'string') return batches
    batches.push(found)
  }
}

test('follow: training starts on what is stored, and goes on with what comes', async (t) => {
  const { open, add, samples } = await following(t, 36)
  const opened = await open()
  const first = await now(opened)
  // The last batch that is known waits for what follows it.
  assert.deepEqual(
    first.map((batch) => batch.rows.length),
    [16, 16],
  )
  assert.ok(first.every(({ isLastOfEpoch }) => !isLastOfEpoch))
  // Too few to be a group, until all have come.
  await add(samples.slice(36, 40))
  assert.deepEqual(await now(opened), first)
  await add(samples.slice(40))
  const all = await batchesFrom(opened)
  assert.deepEqual(all.slice(0, 2), first)
  for (const epoch of [0, 1]) {
    const seen = hashesIn(all.filter((batch) => batch.epoch === epoch))
    assert.equal(new Set(seen).size, 60)
    assert.equal(seen.length, 60)
  }
  const ends = all.filter(({ isLastOfEpoch }) => isLastOfEpoch).map(({ plan }) => plan)
  assert.equal(ends.length, 2)
  assert.equal(ends[1], all.length - 1)
})

test('follow: a resume replays the very same order, then goes on', async (t) => {
  const rig = await following(t, 40)
  const opened = await rig.open()
  const first = await now(opened)
  const record = opened.feed.record()
  await rig.add(rig.samples.slice(40))
  const all = await batchesFrom(opened)

  // Here, where it had gone further than the checkpoint: as if it had never stopped.
  const here = await rig.open()
  await here.feed.begin('t', record)
  assert.deepEqual(await batchesFrom(here), all)

  // Elsewhere the checkpoint is all there is: the same as far as it goes, then every other sample.
  const other = await feedRig(t, rows, {
    store: rig.store,
    stored: 0,
    clock: new HastyClock(),
    input: { follows: true },
  })
  const elsewhere = await other.open()
  await elsewhere.feed.begin('t', record)
  const resumed = await batchesFrom(elsewhere)
  assert.deepEqual(resumed.slice(0, first.length), first)
  const seen = hashesIn(resumed.filter(({ epoch }) => epoch === 0))
  assert.deepEqual([seen.length, new Set(seen).size], [60, 60])
})

test('follow: told that extraction has ended, what is stored is all', async (t) => {
  const { open, add, samples } = await following(t, 20)
  const opened = await open()
  assert.deepEqual(await now(opened), [])
  await add(samples.slice(20, 25))
  opened.feed.extractionEnded()
  const all = await batchesFrom(opened)
  assert.equal(hashesIn(all).length, 50)
  opened.feed.extractionEnded()
  assert.equal(await fed(opened, all.length), 'finished')
})

test('follow: a quarantined sample ends the waiting for it; a lost one does not', async (t) => {
  const { open, store, samples } = await following(t, 58)
  const opened = await open()
  const known = await now(opened)
  const line = (n: number, status: 'quarantined' | 'lost', attempt: number) => ({
    ...samples[n].entry,
    status,
    attempt,
    length: 0,
    crc32: 0,
    reason: 'a test',
  })
  await told(store, [line(58, 'quarantined', 0), line(59, 'lost', 256)])
  assert.equal((await now(opened)).length, known.length)
  await told(store, [line(59, 'quarantined', 256)])
  assert.equal(new Set(hashesIn(await batchesFrom(opened))).size, 58)
})
