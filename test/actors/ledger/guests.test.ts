import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSpool } from '../../../src/spool/spool.ts'
import { ledgerRig } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

/** Ten fetched samples of 100 bytes beside the spool. */
async function withGuests(t: TestContext) {
  const work = await scratch(t)
  const guests = await openSpool(join(work, 'cache'))
  for (let n = 0; n < 10; n++) {
    const sample = { hash: `${n}`.repeat(32), tokens: 1, bytes: 100, crc32: 0 }
    await guests.add({ ...sample, parts: [new Uint8Array(100)] })
  }
  return { work, count: () => readdirSync(guests.dir).length }
}

test('ledger: fetched samples share the spool’s bound, and make way for new ones', async (t) => {
  const { work, count } = await withGuests(t)
  const { ledger } = await ledgerRig(t, { work, limits: { maxBytes: 1200, keepFree: 0 } })
  assert.ok(await ledger.room('extractor/0', 150))
  assert.equal(count(), 10)
  assert.ok(await ledger.room('extractor/1', 450))
  assert.equal(count(), 6)
  assert.ok(await ledger.room('importer', 600))
  assert.equal(count(), 0)
})

test('ledger: where the disk has too little room they make way as well', async (t) => {
  const { work, count } = await withGuests(t)
  const free = async () => 1000 + 100 * (10 - count())
  const limits = { maxBytes: 1e9, keepFree: 1100 }
  const { ledger } = await ledgerRig(t, { work, limits, free })
  assert.ok(await ledger.room('extractor/0', 350))
  assert.equal(count(), 5)
})
