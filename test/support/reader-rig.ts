/** A reader over twelve rows, with claims of its own, and a ledger that a test decides for. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Reader } from '../../actors/reader/read.ts'
import type { Settled } from '../../protocol/ledger.ts'
import type { Batch, QuarantinedSample } from '../../protocol/sample.ts'
import { sleep } from '../../src/clock.ts'
import { openClaims } from '../../src/spool/claims.ts'
import { HastyClock } from '../src/store/hasty-clock.ts'
import { silent } from './ledger-rig.ts'
import { hashOfIds, openCounted, planned } from './planned.ts'
import { rowsFolder } from './rows.ts'
import { scratch } from './target-run.ts'

/** Twelve rows of four tokens: six batches of two. */
const rows = Array.from({ length: 12 }, (_, i) => [i, i, i, i])
export const hashes = rows.map(hashOfIds)

/** A reader with claims of its own, and what a ledger would tell it. */
export async function openReader(
  t: TestContext,
  options: { readonly known?: readonly string[] } = {},
) {
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
