import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deferred } from '../../../protocol/deferred.ts'
import type { LedgerStatus } from '../../../protocol/ledger.ts'
import { Standing } from '../../../supervisors/run/standing.ts'
import { ledgerPeer, readerPeer } from '../../support/peers.ts'
import { ledgerStatus, readerStatus } from '../../support/statuses.ts'

const amount = (samples: number) => ({ samples, bytes: 10 * samples, tokens: 2 * samples })

test('standing: what both told last, counted over a ledger that began anew', async (t) => {
  const told = [7, 2].map((samples) => ledgerStatus({ spooled: amount(samples) }))
  const ledger = ledgerPeer(t, { status: () => told.shift() ?? ledgerStatus() })
  const source = readerPeer(t, { status: () => readerStatus() })
  const standing = new Standing()
  assert.deepEqual([standing.source, standing.ledger], [null, null])
  assert.deepEqual(await standing.ask({ ledger, source, training: null }), [{ type: 'replayed' }])
  await standing.ask({ ledger, source, training: null })
  assert.deepEqual(standing.ledger?.spooled, amount(9))
  assert.deepEqual(standing.source, readerStatus())
})

test('standing: nobody is asked twice at once, and who is away says nothing', async (t) => {
  const { promise, resolve } = deferred<LedgerStatus>()
  const ledger = ledgerPeer(t, { status: () => promise })
  const source = readerPeer(t, { status: () => readerStatus() })
  const standing = new Standing()
  const first = standing.ask({ ledger, source, training: null })
  assert.deepEqual(await standing.ask({ ledger, source, training: null }), [])
  resolve(ledgerStatus())
  assert.deepEqual(await first, [{ type: 'replayed' }])
  source.close()
  assert.deepEqual(await standing.ask({ ledger, source, training: null }), [])
})

test('standing: one that asks anew hears what came after the question under way', async (t) => {
  const before = deferred<LedgerStatus>()
  const told = [before.promise, Promise.resolve(ledgerStatus({ stored: amount(9) }))]
  const ledger = ledgerPeer(t, { status: () => told.shift() ?? ledgerStatus() })
  const source = readerPeer(t, { status: () => readerStatus() })
  const standing = new Standing()
  const first = standing.ask({ ledger, source, training: null })
  const anew = standing.askAnew({ ledger, source, training: null })
  before.resolve(ledgerStatus({ stored: amount(7) }))
  await Promise.all([first, anew])
  assert.deepEqual(standing.ledger?.stored, amount(9))
  // Nobody is being asked any more.
  assert.deepEqual(await standing.ask({ ledger, source, training: null }), [{ type: 'replayed' }])
})
