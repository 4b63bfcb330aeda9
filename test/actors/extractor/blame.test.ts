import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { extractor } from '../../../actors/extractor/index.ts'
import type { Death } from '../../../protocol/child.ts'
import { openClaims } from '../../../src/spool/claims.ts'
import { scratch } from '../../support/target-run.ts'

const by = 'extractor/0'
const crash: Death = { child: by, cause: 'crash', reason: 'it died' }

/** An extractor's judge of deaths, and its claims. */
async function open(t: TestContext, { spool }: { readonly spool: boolean }) {
  const work = await scratch(t)
  if (spool) mkdirSync(join(work, 'spool'))
  const target = { path: '', captureFinal: false, layers: [], fingerprint: '', stamp: '' }
  const input = { device: 'cpu', threads: 1, target, dtype: 'bf16', work, keepFree: 0 } as const
  const claims = openClaims(work)
  return {
    claims,
    blame: extractor(0, input, { isolation: 'thread' }).blame ?? assert.fail('it judges no death'),
  }
}

test('blame: a death that holds a claim is the batch’s, without one the extractor’s', async (t) => {
  const { claims, blame } = await open(t, { spool: true })
  assert.equal(blame(crash), 'child')
  claims.claim('b000001', { by, rows: 2 })
  assert.equal(blame(crash), 'work')
  assert.ok(claims.isSuspect('b000001'))
})

test('blame: where the spool takes no files, no batch is to blame', async (t) => {
  const { claims, blame } = await open(t, { spool: false })
  claims.claim('b000001', { by, rows: 2 })
  assert.equal(blame(crash), 'child')
  assert.ok(!claims.isSuspect('b000001'))
  assert.equal(claims.holder('b000001'), null)
})

test('blame: a death that was ordered is nobody’s', async (t) => {
  const { claims, blame } = await open(t, { spool: true })
  claims.claim('b000001', { by, rows: 2 })
  assert.equal(blame({ ...crash, cause: 'ordered' }), 'work')
  assert.ok(!claims.isSuspect('b000001'))
})
