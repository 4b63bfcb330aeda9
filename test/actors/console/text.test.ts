import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eta, perSecond } from '../../../actors/console/numbers.ts'
import { statusText } from '../../../actors/console/text.ts'
import type { TrainerStatus } from '../../../protocol/trainer.ts'
import {
  importerStatus,
  ledgerStatus,
  runStatus,
  smallTree,
  trainingStatus,
} from '../../support/statuses.ts'

test('status text: rows, store, spool, speed, and the tree with its restarts', () => {
  const lines = statusText(runStatus({ actors: smallTree }), 100).split('\n')
  assert.equal(lines[0], 'running: run run-1, pid 42')
  assert.ok(lines.some((line) => /^rows 600 of 1,000 examined: 200 were there/.test(line)))
  assert.ok(lines.some((line) => /skipped: 3 empty, 1 too long$/.test(line)))
  assert.ok(lines.some((line) => /^store 400 committed, 20 stored and not yet/.test(line)))
  assert.ok(
    lines.some((line) => /30 of 100 permits for requests given out \(64 at the peak\)$/.test(line)),
  )
  const text = lines.join('\n')
  assert.match(text, /^actor +state +for +restarts +in +out/m)
  assert.match(
    text,
    /^ {4}uploader\/0 +running +\S+ +2 +95 to send +3 of 50 lanes\n {8}last: killed$/m,
  )
  assert.match(text, /^ {4}extractor\/0 .* 500 rows +125 files in spool +b000017: 8 rows$/m)
  assert.match(text, /^ {4}ledger .* 95 to send +30 sending, 20 to commit/m)
})

test('status text: an import speaks of files, a run of rows, and neither of the other', () => {
  const text = statusText(runStatus({ source: importerStatus() }), 400)
  assert.match(
    text,
    /^files 304 of 400 examined: 50 were there, 247 imported, 4 in hand, left alone: 1 it cannot /m,
  )
  assert.match(text, /tokens\/s imported;/)
  assert.doesNotMatch(text, /extract|batch|\d rows/)
  assert.doesNotMatch(statusText(runStatus(), 400), /import|^files/m)
})

test('status text: each failed sample is named, and a full spool says why', () => {
  const ledger = ledgerStatus({
    failed: [{ hash: 'ab', reason: 'access denied' }],
    spool: { files: 1, bytes: 1e9, full: 'spool.maxBytes is reached' },
  })
  const text = statusText(runStatus({ ledger, run: '' }), 400)
  assert.match(text, /^failed ab: access denied$/m)
  assert.match(text, /; full: spool.maxBytes is reached;/)
  assert.match(text, /run \(not known yet\)/)
})

test('status text: while the store is busy it tells the cap in force, and the whole one', () => {
  const permits = { open: 40, max: 99, inForce: 49, peak: 99 }
  const text = statusText(runStatus({ ledger: ledgerStatus({ permits }) }), 400)
  assert.match(
    text,
    /40 of 49 permits for requests given out \(99 at the peak; the store is busy: adapting/,
  )
  assert.match(text, /, up to 99 once it answers\)/)
})

test('status text: of a training, how far it is, what it is worth, and what is saved', () => {
  const text = statusText(runStatus({ source: null, training: trainingStatus() }), 400)
  for (const line of [
    /^training training-1: computing, step 50 of 200, epoch 2 of 6, 1,200 samples, 30,000/m,
    /, 1,235 tokens\/s on cpu, 01:13 left, 2 % outside onnxruntime, transfers 0 %$/m,
    /^ {2}loss 1\.500, 62\.5 % right, τ 2\.35, lr 0\.000600, gradient 0\.500$/m,
    /^ {2}right by slot: 75 % 50 %$/m,
    /^ {2}held out at step 40, 512 samples: loss 1\.500/m,
    /^checkpoints 00000040-writer, 2\.5 MB, 01:00 ago$/m,
  ]) {
    assert.match(text, line)
  }
  const elsewhere = (trainer: Partial<TrainerStatus>) =>
    statusText(runStatus({ training: trainingStatus({ trainer }) }), 400)
  const batches = { done: 3, of: 8 }
  assert.match(elsewhere({ batches }), /computing, step 50 of 200, batches 3 of 8, epoch 2 of 6/)
  assert.match(elsewhere({ transferShare: 0.4 }), /2 % outside onnxruntime, transfers 40 %$/m)
  assert.match(elsewhere({ transferShare: null }), /onnxruntime, transfers not told apart$/m)
  assert.doesNotMatch(elsewhere({ outsideShare: null }), /onnxruntime|transfers/)
  const trouble = trainingStatus({ checkpoints: { last: null, lastError: 'access denied' } })
  assert.match(
    statusText(runStatus({ training: trouble }), 400),
    /the last try failed: access denied$/m,
  )
})

test('status text: before an actor has answered, what is known is told', () => {
  const text = statusText(runStatus({ source: null, ledger: null }), 400)
  assert.equal(text.split('\n').length, 3)
})

test('status text: times and speeds read well at any size', () => {
  assert.deepEqual([59, 61, 3600, 90_061].map(eta), ['00:59', '01:01', '1:00:00', '25:01:01'])
  assert.deepEqual([null, Number.NaN, Number.POSITIVE_INFINITY].map(eta), ['?', '?', '?'])
  assert.deepEqual([0, 1.25, 99.94, 12_345.6].map(perSecond), ['0.0', '1.3', '99.9', '12,346'])
})
