import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Batch } from '../../../protocol/sample.ts'
import { wanted } from '../../support/planned.ts'
import { hashes, openReader } from '../../support/reader-rig.ts'

test('reader: every batch goes out once, and at the end all are told so', async (t) => {
  const { reader, take, finish } = await openReader(t)
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
  const { reader, take } = await openReader(t)
  const { id } = await take()
  for (const told of [id, id, 'b000099']) reader.done(told)
  assert.equal(reader.status().batches.done, 1)
})

test('reader: what an extractor held when it ended goes to the next that asks', async (t) => {
  const { reader, take } = await openReader(t)
  const lost = await take('extractor/0')
  const other = await take('extractor/1')
  reader.holderEnded('extractor/0')
  const again = await take('extractor/1')
  assert.deepEqual(again, lost)
  assert.equal(reader.status().batches.leased, 2)
  assert.notEqual(other.id, again.id)
})

test('reader: what an earlier reader lent goes on, and to nobody else', async (t) => {
  const { reader, claims, take, finish } = await openReader(t)
  claims.claim('b000000', { by: 'extractor/1', rows: 2 })
  claims.claim('b000001', { by: 'extractor/2', rows: 2 })
  claims.claim('b000002', { by: 'extractor/3', rows: 2 })
  const first = await take('extractor/0')
  assert.equal(first.id, 'b000003')
  assert.equal(reader.status().batches.leased, 4)
  reader.done('b000000')
  assert.equal(reader.status().batches.done, 1, 'computed by the word of another')
  // It has begun anew, and its supervisor has judged its end.
  claims.forgive('extractor/2')
  assert.equal((await take('extractor/2')).id, 'b000001')
  // One that is done has no claim any more before its holder says so: it is not lent again.
  claims.done('b000002')
  finish(first)
  assert.equal((await take('extractor/0')).id, 'b000004')
  assert.equal(reader.status().batches.leased, 3)
  reader.done('b000002')
  assert.equal(reader.status().batches.done, 3)
})

test('reader: who ended while it waited for a batch is lent none', async (t) => {
  const { reader, take } = await openReader(t)
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
  const { reader, take } = await openReader(t)
  const batch = await take()
  batch.tokenIds.fill(-1)
  reader.holderEnded('extractor/0')
  assert.ok(!(await take()).tokenIds.includes(-1))
})

test('reader: nothing is finished while a batch is under way', async (t) => {
  const { reader, take, finish } = await openReader(t)
  const held = await take('extractor/0')
  for (let i = 0; i < 5; i++) finish(await take('extractor/1'))
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'later' })
  finish(held)
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'finished' })
})

test('reader: a resume hands out what is missing, and finds the rest', async (t) => {
  const { reader, finish } = await openReader(t, { known: hashes.slice(0, 7) })
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
  const { reader, ledger, take, finish } = await openReader(t)
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
  const { reader, ledger, reads, take, finish } = await openReader(t)
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
  const { reader, ledger, take, finish } = await openReader(t)
  for (let i = 0; i < 6; i++) finish(await take())
  ledger.settled = 'later'
  assert.deepEqual(await reader.next('extractor/0'), { kind: 'later' })
  ledger.settled = 'settled'
  assert.deepEqual(await reader.next('extractor/0'), { kind: 'finished' })
})

test('reader: paused, it hands out nothing; what was handed out goes on', async (t) => {
  const { reader, take, finish } = await openReader(t)
  const held = await take()
  reader.pause(true)
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'later' })
  finish(held)
  assert.equal(reader.status().batches.done, 1)
  reader.pause(false)
  await take()
})

test('reader: draining, it hands out nothing and is not paused out of it', async (t) => {
  const { reader } = await openReader(t)
  reader.drain()
  reader.pause(true)
  reader.pause(false)
  assert.deepEqual(await reader.next('extractor/0'), { kind: 'later' })
  assert.equal(reader.work, 'draining')
})

test('reader: a drain that comes while rows are looked through is heeded', async (t) => {
  const { reader } = await openReader(t)
  const next = reader.next('extractor/0')
  reader.drain()
  assert.deepEqual(await next, { kind: 'later' })
})

test('reader: rows and tokens are done when their batch is', async (t) => {
  const { reader, take, finish } = await openReader(t)
  const first = await take()
  const before = reader.status()
  finish(first)
  const after = reader.status()
  assert.equal(after.rowsDone - before.rowsDone, 2)
  assert.equal(after.tokensDone - before.tokensDone, 8)
  assert.equal(before.rowsDone, 0)
})
