import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openClaims } from '../../../src/spool/claims.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { beginRetries, forgetRetries, listRetries } from '../../../supervisors/run/retries.ts'
import { hashOf, line, told } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

const quarantined = (n: number, attempt: number) =>
  ({ ...line(hashOf(n)), status: 'quarantined', reason: 'not finite', attempt }) as const

/** How the launcher says that the process before died; put back when the test ends. */
function died(t: TestContext, how: string): void {
  const before = process.env.DRAFTSMITH_WATCHED
  process.env.DRAFTSMITH_WATCHED = how
  t.after(() => {
    if (before === undefined) delete process.env.DRAFTSMITH_WATCHED
    else process.env.DRAFTSMITH_WATCHED = before
  })
}

test('retries: all that is quarantined and may be tried again; no batch is suspect', async (t) => {
  const work = await scratch(t)
  const store = new MemoryStore()
  const stored = { ...line(hashOf(4)), status: 'stored', length: 9, crc32: 1 } as const
  await told(store, [quarantined(1, 0), quarantined(2, 7), quarantined(3, 255), stored])
  const claims = openClaims(work)
  for (const by of ['extractor/0', 'extractor/1']) {
    claims.claim('b000003', { by, rows: 4 })
    claims.charge(by, { witnessed: true })
  }
  assert.ok(claims.isSuspect('b000003'))
  const want = new Map([
    [hashOf(1), 0],
    [hashOf(2), 7],
  ])
  assert.deepEqual(await listRetries(store, work), want)
  assert.ok(!claims.isSuspect('b000003'))
})

test('retries: a process started again after a death keeps to the first list', async (t) => {
  const work = await scratch(t)
  const store = new MemoryStore()
  await told(store, [quarantined(1, 0)])
  const first = await listRetries(store, work)
  await told(store, [quarantined(1, 1), quarantined(2, 0)])
  const claims = openClaims(work)
  claims.claim('b000000', { by: 'extractor/0', rows: 1 })
  claims.charge('extractor/0', { witnessed: true })
  died(t, 'SIGKILL')
  assert.deepEqual(await listRetries(store, work), first)
  assert.ok(claims.isSuspect('b000000'))

  forgetRetries(work)
  assert.throws(() => readFileSync(join(work, 'retry.json')), { code: 'ENOENT' })
  // It died before it had a list.
  const all = new Map([
    [hashOf(1), 1],
    [hashOf(2), 0],
  ])
  assert.deepEqual(await listRetries(store, work), all)
})

test('retries: a list that an earlier command left is not taken, whoever dies next', async (t) => {
  const work = await scratch(t)
  const path = join(work, 'retry.json')
  writeFileSync(path, JSON.stringify([[hashOf(1), 0]]))
  died(t, 'SIGKILL')
  beginRetries(work)
  assert.ok(existsSync(path))
  died(t, 'first')
  beginRetries(work)
  assert.ok(!existsSync(path))
})

test('retries: what the disk refuses and a list that is none are failures, not bugs', async (t) => {
  const work = await scratch(t)
  const store = new MemoryStore()
  await told(store, [quarantined(1, 0)])
  const path = join(work, 'retry.json')
  mkdirSync(`${path}.tmp`)
  const refused = { kind: 'invalid', message: /not written\. path=.*retry\.json, code=EISDIR/ }
  await assert.rejects(listRetries(store, work), refused)
  died(t, 'SIGKILL')
  writeFileSync(path, '[["half')
  await assert.rejects(listRetries(store, work), { kind: 'corrupt', message: /retry\.json/ })
})
