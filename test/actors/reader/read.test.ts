import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Reader } from '../../../actors/reader/read.ts'
import type { Settled } from '../../../protocol/ledger.ts'
import type { Batch, QuarantinedSample } from '../../../protocol/sample.ts'
import { sleep } from '../../../src/clock.ts'
import { openClaims } from '../../../src/spool/claims.ts'
import { HastyClock } from '../../src/store/hasty-clock.ts'
import { silent } from '../../support/ledger-rig.ts'
import { hashOfIds, openCounted, planned, wanted } from '../../support/planned.ts'
import { rowsFolder } from '../../support/rows.ts'
import { scratch } from '../../support/target-run.ts'

/** Twelve rows of four tokens: six batches of two. */
const rows = Array.from({ length: 12 }, (_, i) => [i, i, i, i])
const hashes = rows.map(hashOfIds)

/** A reader with claims of its own, and what a ledger would tell it. */
async function open(t: TestContext, options: { readonly known?: readonly string[] } = {}) {
  const { dataset, reads } = openCounted(await rowsFolder(t, rows))
  const { batches } = planned(dataset, { tokenBudget: 8, ...options })
  const claims = openClaims(await scratch(t))
  const ledger = {
    /** What it accounts for: all that was asked for, unless a test takes some away. */
    known: new Set(options.known),
    quarantined: [] as QuarantinedSample[],
    settled: 'settled' as Settled['kind'],
  }
  const clock = new HastyClock()
  const reader = new Reader({
    batches,
    rows: 12,
    tokens: 48,
    claims,
    clock,
    log: silent,
    known: async () => Buffer.from([...ledger.known].join(''), 'hex'),
    settled: async () => {
      // As the ledger does: it answers later only when it has waited.
      if (ledger.settled === 'later') await sleep(5000, clock)
      const quarantined = ledger.quarantined.map(({ hash }) => hash)
      return { kind: ledger.settled, failed: [], quarantined }
    },
    quarantined: async (samples) => {
      ledger.quarantined.push(...samples)
      for (const { hash } of samples) ledger.known.add(hash)
    },
  })
  const take = async (holder = 'extractor/0'): Promise<Batch> => {
    const next = await reader.next(holder)
    return next.kind === 'batch' ? next.batch : assert.fail(next.kind)
  }
  /** As an extractor that lives does. */
  const finish = (batch: Batch) => {
    for (const row of batch.rows) if (row.wanted) ledger.known.add(row.hash)
    claims.done(batch.id)
    reader.done(batch.id)
  }
  /** As an extractor that dies of its batch does. */
  const die = (batch: Batch, holder = 'extractor/0') => {
    claims.claim(batch.id, { by: holder, rows: batch.rows.length })
    claims.charge(holder, { witnessed: true })
    reader.holderEnded(holder)
  }
  return { reader, claims, ledger, reads, take, finish, die }
}

test('reader: every batch goes out once, and at the end all are told so', async (t) => {
  const { reader, take, finish } = await open(t)
  const seen: Batch[] = []
  for (let i = 0; i < 6; i++) {
    const batch = await take(`extractor/${i % 2}`)
    seen.push(batch)
    finish(batch)
  }
  assert.deepEqual(wanted(seen), [...hashes].sort())
  assert.equal(reader.status().outcome, null)
  assert.deepEqual(await reader.next('extractor/0'), { kind: 'finished' })
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'finished' })
  assert.deepEqual(reader.status().outcome, { committed: 12, quarantined: 0, failed: 0 })
  assert.deepEqual(reader.status().batches, { planned: 6, leased: 0, done: 6 })
})

test('reader: done told twice counts once, and of a batch it never lent, not at all', async (t) => {
  const { reader, take } = await open(t)
  const { id } = await take()
  for (const told of [id, id, 'b000099']) reader.done(told)
  assert.equal(reader.status().batches.done, 1)
})

test('reader: what an extractor held when it ended goes to the next that asks', async (t) => {
  const { reader, take } = await open(t)
  const lost = await take('extractor/0')
  const other = await take('extractor/1')
  reader.holderEnded('extractor/0')
  const again = await take('extractor/1')
  assert.deepEqual(again, lost)
  assert.equal(reader.status().batches.leased, 2)
  assert.notEqual(other.id, again.id)
})

test('reader: what an earlier reader lent goes on, and to nobody else', async (t) => {
  const { reader, claims, take, finish } = await open(t)
  claims.claim('b000000', { by: 'extractor/1', rows: 2 })
  claims.claim('b000001', { by: 'extractor/2', rows: 2 })
  claims.claim('b000002', { by: 'extractor/3', rows: 2 })
  const first = await take('extractor/0')
  assert.equal(first.id, 'b000003')
  assert.equal(reader.status().batches.leased, 4)
  reader.done('b000000')
  assert.equal(reader.status().batches.done, 1, 'computed by the word of another')
  // It has begun anew, and its supervisor has judged its end; the third one's was judged alone.
  claims.forgive('extractor/2')
  assert.equal((await take('extractor/2')).id, 'b000001')
  claims.charge('extractor/3', { witnessed: true })
  finish(first)
  assert.equal((await take('extractor/0')).id, 'b000004')
  assert.equal(reader.status().batches.leased, 2, 'the third is under suspicion')
})

test('reader: who ended while it waited for a batch is lent none', async (t) => {
  const { reader, take } = await open(t)
  reader.pause(true)
  const asked = reader.next('extractor/0')
  reader.holderEnded('extractor/0')
  reader.pause(false)
  assert.deepEqual(await asked, { kind: 'later' })
  assert.equal(reader.status().batches.leased, 0)
  // Its next start is not taken for the one that ended.
  await take('extractor/0')
})

test('reader: it lends copies, so that what a dead extractor was sent is whole', async (t) => {
  const { reader, take } = await open(t)
  const batch = await take()
  batch.tokenIds.fill(-1)
  reader.holderEnded('extractor/0')
  assert.ok(!(await take()).tokenIds.includes(-1))
})

test('reader: nothing is finished while a batch is under way', async (t) => {
  const { reader, take, finish } = await open(t)
  const held = await take('extractor/0')
  for (let i = 0; i < 5; i++) finish(await take('extractor/1'))
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'later' })
  finish(held)
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'finished' })
})

test('reader: a resume hands out what is missing, and finds the rest', async (t) => {
  const { reader, finish } = await open(t, { known: hashes.slice(0, 7) })
  const seen: Batch[] = []
  for (;;) {
    const next = await reader.next('extractor/0')
    if (next.kind !== 'batch') break
    seen.push(next.batch)
    finish(next.batch)
  }
  assert.deepEqual(wanted(seen), hashes.slice(7).sort())
  assert.equal(reader.status().found, 7)
})

test('reader: what the ledger has not at the end is computed again', async (t) => {
  const { reader, ledger, take, finish } = await open(t)
  for (let i = 0; i < 6; i++) finish(await take())
  const torn = hashes[3] ?? ''
  ledger.known.delete(torn)
  const again = await take()
  assert.deepEqual(wanted([again]), [torn])
  finish(again)
  assert.deepEqual(await reader.next('extractor/0'), { kind: 'finished' })
  assert.equal(reader.status().outcome?.committed, 12)
})

test('reader: what is lost is read again no further ahead than the first time', async (t) => {
  const { reader, ledger, reads, take, finish } = await open(t)
  for (let i = 0; i < 6; i++) finish(await take())
  ledger.known.clear()
  reads.length = 0
  const first = await take()
  // Batches of two rows: the one that is lent, and two ahead.
  assert.equal(reads.length, 6)
  assert.equal(reader.status().rowsDone, 0)
  assert.equal(reader.status().tokensDone, 0)
  finish(first)
  const again = [first]
  for (let i = 1; i < 6; i++) {
    const batch = await take()
    finish(batch)
    again.push(batch)
  }
  assert.deepEqual(wanted(again), [...hashes].sort())
  assert.equal(reader.status().rowsDone, 12)
  assert.deepEqual(await reader.next('extractor/0'), { kind: 'finished' })
})

test('reader: while the ledger is not settled there is no end', async (t) => {
  const { reader, ledger, take, finish } = await open(t)
  for (let i = 0; i < 6; i++) finish(await take())
  ledger.settled = 'later'
  assert.deepEqual(await reader.next('extractor/0'), { kind: 'later' })
  ledger.settled = 'settled'
  assert.deepEqual(await reader.next('extractor/0'), { kind: 'finished' })
})

test('reader: a batch that kills is halved down to the one row that does', async (t) => {
  const { reader, ledger, finish, die } = await open(t)
  const killer = hashes[5] ?? ''
  const computed: string[] = []
  let deaths = 0
  for (;;) {
    const next = await reader.next('extractor/0')
    if (next.kind === 'finished') break
    if (next.kind !== 'batch') continue
    const { batch } = next
    if (batch.rows.some(({ hash }) => hash === killer)) {
      assert.ok(++deaths < 20, 'it dies for ever')
      die(batch)
    } else {
      finish(batch)
      computed.push(...batch.rows.map(({ hash }) => hash))
    }
  }
  assert.deepEqual(
    ledger.quarantined.map(({ hash }) => hash),
    [killer],
  )
  assert.match(ledger.quarantined[0]?.reason ?? '', /ended its extractor/)
  assert.deepEqual(computed.sort(), hashes.filter((hash) => hash !== killer).sort())
  assert.deepEqual(reader.status().outcome, { committed: 11, quarantined: 1, failed: 0 })
  assert.equal(reader.status().halved.length, 1)
})

test('reader: one bad batch holds up no other', async (t) => {
  const { take, finish, die } = await open(t)
  const bad = await take()
  die(bad)
  for (let i = 0; i < 5; i++) {
    const batch = await take()
    assert.notEqual(batch.id, bad.id)
    finish(batch)
  }
  assert.equal((await take()).id, bad.id)
})

test('reader: a claim that a full disk kept from being judged binds nobody for ever', async (t) => {
  const { reader, claims, take } = await open(t)
  const batch = await take('extractor/0')
  claims.claim(batch.id, { by: 'extractor/0', rows: batch.rows.length })
  reader.holderEnded('extractor/0')
  assert.equal((await take('extractor/0')).id, batch.id)
})

test('reader: what a dead extractor had claimed waits until its death is judged', async (t) => {
  const { reader, claims, take, finish } = await open(t)
  const batch = await take()
  claims.claim(batch.id, { by: 'extractor/0', rows: batch.rows.length })
  reader.holderEnded('extractor/0')
  for (let i = 0; i < 5; i++) finish(await take('extractor/1'))
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'later' })
  assert.equal(claims.forgive('extractor/0'), batch.id)
  assert.equal((await take('extractor/1')).id, batch.id)
})

test('reader: what kills is hunted alone, one batch to its end before the next', async (t) => {
  const { reader, take, finish, die } = await open(t)
  const bad = [await take(), await take('extractor/1'), await take('extractor/2')]
  for (const [i, batch] of bad.entries()) die(batch, `extractor/${i}`)
  for (let i = 0; i < 3; i++) finish(await take())

  const hunted = await take()
  assert.ok(bad.some(({ id }) => id === hunted.id))
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'later' })
  die(hunted)
  assert.equal((await take('extractor/1')).id, hunted.id)
  die(hunted, 'extractor/1')
  const half = await take()
  assert.equal(half.id, `${hunted.id}.0`)
  finish(half)
  assert.equal((await take()).id, `${hunted.id}.1`)
})

test('reader: paused, it hands out nothing; what was handed out goes on', async (t) => {
  const { reader, take, finish } = await open(t)
  const held = await take()
  reader.pause(true)
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'later' })
  finish(held)
  assert.equal(reader.status().batches.done, 1)
  reader.pause(false)
  await take()
})

test('reader: draining, it hands out nothing and is not paused out of it', async (t) => {
  const { reader } = await open(t)
  reader.drain()
  reader.pause(true)
  reader.pause(false)
  assert.deepEqual(await reader.next('extractor/0'), { kind: 'later' })
  assert.equal(reader.work, 'draining')
})

test('reader: a drain that comes while rows are looked through is heeded', async (t) => {
  const { reader } = await open(t)
  const next = reader.next('extractor/0')
  reader.drain()
  assert.deepEqual(await next, { kind: 'later' })
})

test('reader: rows and tokens are done when their batch is', async (t) => {
  const { reader, take, finish } = await open(t)
  const first = await take()
  const before = reader.status()
  finish(first)
  const after = reader.status()
  assert.equal(after.rowsDone - before.rowsDone, 2)
  assert.equal(after.tokensDone - before.tokensDone, 8)
  assert.equal(before.rowsDone, 0)
})
