import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressLines } from '../../../supervisors/display/progress.ts'
import {
  importerStatus,
  ledgerStatus,
  readerStatus,
  runStatus,
  trainingStatus,
} from '../../support/statuses.ts'

test('progress: of an import, files where a run has rows', () => {
  const lines = progressLines(runStatus({ source: importerStatus() }), 200)
  assert.deepEqual(lines.slice(0, 2), [
    'examine  ███████████████░░░░░  76% 50 of 304 files were there, 3 left alone',
    'import   ███████████████░░░░░  75% 12.3 samples/s, 12,346 tokens/s, ETA 1:02:03',
  ])
})

test('progress: replay, extraction and upload, each with its share and its speed', () => {
  assert.deepEqual(progressLines(runStatus(), 200), [
    'replay   ████████████░░░░░░░░  60% 200 of 600 rows were there',
    'extract  ██████████░░░░░░░░░░  50% 12.3 samples/s, 12,346 tokens/s, ETA 1:02:03',
    'upload   ██████████░░░░░░░░░░  50% 10.0 samples/s, 1.1 MB/s, 125 to send',
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
  const ledger = ledgerStatus({ stored, toSend: 0 })
  const lines = progressLines(runStatus({ source, ledger }), 200)
  for (const line of lines) assert.match(line, / 100% /)
})

test('progress: what an earlier start had spooled is still to be sent', () => {
  const none = { samples: 0, bytes: 0, tokens: 0 }
  const ledger = ledgerStatus({ spooled: none, stored: { ...none, samples: 300 }, toSend: 900 })
  const lines = progressLines(runStatus({ ledger }), 200)
  assert.match(lines[2] ?? '', /^upload {3}█{5}░{15} {2}25% .*, 900 to send$/)
})

test('progress: of a training, its steps, and what they have come to', () => {
  const training = trainingStatus()
  assert.deepEqual(progressLines(runStatus({ source: null, training }), 200), [
    'train    █████░░░░░░░░░░░░░░░  25% step 50 of 200, ETA 01:13, 1,235 tokens/s',
    '         loss 1.500, 62.5 % right, τ 2.35',
  ])
  const unknown = trainingStatus({ trainer: { steps: null, last: null } })
  assert.match(
    progressLines(runStatus({ training: unknown }), 200)[3] ?? '',
    / 0% step 50, ETA \?, 1,235 tokens\/s, computing$/,
  )
})

test('progress: a step that takes long moves with its batches', () => {
  const batches = { done: 3, of: 4 }
  const training = trainingStatus({ trainer: { step: 0, steps: 3, batches } })
  assert.deepEqual(progressLines(runStatus({ source: null, training }), 200), [
    'train    █████░░░░░░░░░░░░░░░  25% step 0 of 3, batches 3 of 4, ETA ?, 1,235 tokens/s',
    '         loss 1.500, 62.5 % right, τ 2.35',
  ])
  const alone = trainingStatus({ trainer: { batches: { done: 0, of: 1 } } })
  assert.doesNotMatch(
    progressLines(runStatus({ source: null, training: alone }), 200).join('\n'),
    /batches/,
  )
})

test('progress: what is over has no time left, and what is being ended says so', () => {
  const outcome = { committed: 600, quarantined: 0, failed: 0 }
  const training = trainingStatus({ trainer: { outcome: { steps: 200 } } })
  const over = runStatus({ state: 'draining', source: readerStatus({ outcome }), training })
  const lines = progressLines(over, 79)
  assert.match(lines[1] ?? '', /tokens\/s, done$/)
  assert.match(lines[3] ?? '', /, done, 1,235 tokens\/s$/)
  assert.match(lines.at(-1) ?? '', /^draining: .* Ctrl-C again does not wait$/)
  const paused = progressLines(runStatus({ state: 'paused', training: trainingStatus() }), 200)
  for (const line of [paused[1], paused[3]]) assert.match(line ?? '', / {2}paused$/)
})
