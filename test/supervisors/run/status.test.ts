import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressLines } from '../../../supervisors/display/progress.ts'
import { progressFacts } from '../../../supervisors/run/progress-facts.ts'
import { Rate } from '../../../supervisors/run/rate.ts'
import { Counted, Speeds } from '../../../supervisors/run/status.ts'
import { importerStatus, ledgerStatus, readerStatus, runStatus } from '../../support/statuses.ts'

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

test('progress: of an import, files where a run has rows', () => {
  const lines = progressLines(runStatus({ source: importerStatus() }), 200)
  assert.deepEqual(lines.slice(0, 2), [
    'examine  ██████████████████░░░░░░  76% 50 of 304 files were there, 3 left alone',
    'import   ██████████████████░░░░░░  75% 12.3 samples/s, 12,346 tokens/s, ETA 1:02:03',
  ])
  const facts = JSON.stringify(progressFacts(runStatus({ source: importerStatus() })))
  assert.match(facts, /"files":400,"filesDone":300/)
  assert.doesNotMatch(facts, /rows/)
})

test('progress: replay, extraction and upload, each with its share and its speed', () => {
  assert.deepEqual(progressLines(runStatus(), 200), [
    'replay   ██████████████░░░░░░░░░░  60% 200 of 600 rows were there',
    'extract  ████████████░░░░░░░░░░░░  50% 12.3 samples/s, 12,346 tokens/s, ETA 1:02:03',
    'upload   ████████████░░░░░░░░░░░░  50% 10.0 samples/s, 1.1 MB/s, 125 in the spool',
  ])
})

test('progress: it says why nothing moves', () => {
  const full = ledgerStatus({ spool: { files: 1, bytes: 1, full: 'spool.maxBytes is reached' } })
  const lines = progressLines(runStatus({ state: 'paused', ledger: full }), 200)
  assert.match(lines[1] ?? '', /paused {2}waits: the spool is full$/)
  const permits = { open: 9, max: 99, inForce: 12, peak: 99 }
  const busy = progressLines(runStatus({ ledger: ledgerStatus({ permits }) }), 200)
  assert.match(busy[2] ?? '', /the store is busy: 12 of 99 requests$/)
})

test('progress: no line is wider than the terminal; before the first answer there is one', () => {
  for (const columns of [0, 1, 20, 79]) {
    for (const line of progressLines(runStatus(), columns)) {
      assert.ok(line.length <= Math.max(1, columns), `${columns}: ${line}`)
    }
  }
  const early = runStatus({ state: 'preflight', source: null, ledger: null })
  assert.deepEqual(progressLines(early, 80), ['preflight…'])
})

test('progress: of no rows all are done, and none is ever more than all', () => {
  const source = readerStatus({ rows: 0, examined: 0, found: 0, rowsDone: 7 })
  const stored = { samples: 300, bytes: 1, tokens: 1 }
  const lines = progressLines(runStatus({ source, ledger: ledgerStatus({ stored }) }), 200)
  for (const line of lines) assert.match(line, / 100% /)
})
