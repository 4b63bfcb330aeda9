import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rate } from '../../../src/rate.ts'
import { Counted, Speeds } from '../../../supervisors/run/status.ts'
import { importerStatus, ledgerStatus, readerStatus } from '../../support/statuses.ts'

test('rate: what came in the last half minute, however long before it began', () => {
  const rate = new Rate()
  assert.equal(rate.perSecond, 0)
  for (let second = 0; second <= 60; second++)
    rate.note(second < 30 ? 0 : second - 30, 1000 * second)
  assert.equal(rate.perSecond, 1)
  for (let second = 61; second <= 120; second++) rate.note(30, 1000 * second)
  assert.equal(rate.perSecond, 0)
})

test('rate: one moment alone tells nothing, nor does a counter that began anew', () => {
  const rate = new Rate()
  rate.note(5, 1000)
  assert.equal(rate.perSecond, 0)
  rate.note(9, 1000)
  assert.equal(rate.perSecond, 0)
  rate.note(29, 3000)
  assert.equal(rate.perSecond, 12)
  rate.note(1, 4000)
  assert.equal(rate.perSecond, 0)
  rate.note(4, 5000)
  assert.equal(rate.perSecond, 3)
})

test('counted: what a ledger told before it died still counts', () => {
  const counted = new Counted()
  const amount = (samples: number) => ({ samples, bytes: 10 * samples, tokens: 2 * samples })
  for (const samples of [3, 7, 1, 4, 0, 2]) counted.note(amount(samples))
  assert.deepEqual(counted.all, amount(7 + 4 + 2))
})

test('speeds: time left follows from the tokens left, and is unknown where nothing moves', () => {
  const speeds = new Speeds()
  assert.equal(speeds.read().etaSeconds, null)
  const ledger = (samples: number) =>
    ledgerStatus({
      spooled: { samples, bytes: 1000 * samples, tokens: 100 * samples },
      stored: { samples: samples / 2, bytes: 500 * samples, tokens: 50 * samples },
    })
  speeds.note(readerStatus({ tokens: 5000, tokensDone: 0 }), ledger(0), 0)
  speeds.note(readerStatus({ tokens: 5000, tokensDone: 2000 }), ledger(20), 10_000)
  assert.deepEqual(speeds.read(), {
    spooled: { samplesPerSecond: 2, tokensPerSecond: 200 },
    uploaded: { samplesPerSecond: 1, bytesPerSecond: 1000 },
    etaSeconds: 15,
  })
  speeds.note(readerStatus({ tokens: 5000, tokensDone: 6000 }), ledger(40), 20_000)
  assert.equal(speeds.read().etaSeconds, 0)
})

test('speeds: time left of an import follows from the files that were gone through', () => {
  const speeds = new Speeds()
  const ledger = ledgerStatus()
  speeds.note(importerStatus({ files: 100, examined: 10, inHand: 10 }), ledger, 0)
  speeds.note(importerStatus({ files: 100, examined: 70, inHand: 30 }), ledger, 10_000)
  assert.equal(speeds.read().etaSeconds, 15)
  // Where all are there already nothing is spooled, and still it moves.
  assert.equal(speeds.read().spooled.samplesPerSecond, 0)
})
