import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TrainingStatus } from '../../../protocol/console.ts'
import type { LedgerStatus } from '../../../protocol/ledger.ts'
import type { SourceStatus } from '../../../protocol/source.ts'
import { type Heard, judge as judgeHeard } from '../../../supervisors/run/judge.ts'
import {
  importerStatus,
  ledgerStatus,
  readerStatus,
  trainingStatus,
} from '../../support/statuses.ts'

const judgeAll = (heard: Omit<Heard, 'hasLearnt'>) => judgeHeard({ ...heard, hasLearnt: true })
const judge = (source: SourceStatus, ledger: LedgerStatus) =>
  judgeAll({ source, ledger, training: null })
const types = (...of: Parameters<typeof judge>) => judge(...of).map(({ type }) => type)
const outcome = { committed: 7, quarantined: 0, failed: 0 }

test('judge: there is nothing to tell until a batch is given out: the replay is over', () => {
  const batches = { planned: 3, leased: 0, done: 0 }
  assert.deepEqual(types(readerStatus({ batches }), ledgerStatus()), [])
  assert.deepEqual(types(readerStatus(), ledgerStatus()), ['replayed'])
})

test('judge: a run is finished with its outcome, whole only where nothing is missing', () => {
  for (const [more, incomplete] of [
    [{}, false],
    [{ failed: 1 }, true],
    [{ quarantined: 1 }, true],
  ] as const) {
    const events = judge(readerStatus({ outcome: { ...outcome, ...more } }), ledgerStatus())
    assert.deepEqual(events, [{ type: 'replayed' }, { type: 'finished', incomplete }])
  }
})

test('judge: a lost store outweighs the rest, with its own remedy where it has one', () => {
  for (const [remedy, says] of [
    [null, /^See the store and its rights\. Then run again/],
    ['Allow it.', /^Allow it\. Then run again/],
  ] as const) {
    const gaveUp = { reason: 'nothing for 30 minutes', remedy }
    const [lost] = judge(readerStatus({ outcome }), ledgerStatus({ gaveUp }))
    assert.ok(lost?.type === 'gaveUp' && lost.failure.kind === 'unavailable')
    assert.match(lost.failure.remedy ?? '', says)
  }
})

test('judge: a dataset of no usable row is refused, where nothing was sent either', () => {
  const none = readerStatus({ outcome: { committed: 0, quarantined: 0, failed: 0 } })
  const idle = ledgerStatus({ segments: 0, stored: { samples: 0, bytes: 0, tokens: 0 } })
  const [refused] = judge(none, idle)
  assert.ok(refused?.type === 'refused' && refused.failure.kind === 'invalid')
  assert.deepEqual(types(none, ledgerStatus()), ['gaveUp'])
})

test('judge: an import works once a file is in hand, and is whole where all were taken', () => {
  assert.deepEqual(types(importerStatus({ inHand: 0 }), ledgerStatus()), [])
  assert.deepEqual(types(importerStatus(), ledgerStatus()), ['replayed'])
  for (const [leftAlone, failed, incomplete] of [
    [{}, 0, false],
    [{}, 1, true],
    [{ 'it cannot be read': 1 }, 0, true],
  ] as const) {
    const source = importerStatus({ leftAlone, outcome: { committed: 7, failed } })
    assert.deepEqual(judge(source, ledgerStatus()).at(-1), { type: 'finished', incomplete })
  }
  // Nothing in it is of use: unlike a dataset, that is told file by file.
  const none = importerStatus({ outcome: { committed: 0, failed: 0 } })
  assert.deepEqual(types(none, ledgerStatus()), ['replayed', 'finished'])
})

test('judge: a run that trains is finished with its training, and begun by either', () => {
  const source = readerStatus({ outcome: { ...outcome, failed: 1 } })
  const at = (training: TrainingStatus | 'unheard', of: SourceStatus | null = source) =>
    judgeAll({ source: of, ledger: ledgerStatus(), training })
  assert.deepEqual(at(trainingStatus()), [{ type: 'replayed' }])
  assert.deepEqual(at(trainingStatus({ trainer: { step: 0 } }), null), [])
  const outcomeAt = (step: number) => {
    const checkpoints = trainingStatus().checkpoints
    const trainer = { step: 200, outcome: { steps: 200 } }
    return trainingStatus({
      trainer,
      checkpoints: { last: checkpoints.last && { ...checkpoints.last, step } },
    })
  }
  const done = outcomeAt(200)
  assert.deepEqual(at(done).at(-1), { type: 'finished', incomplete: true })
  assert.deepEqual(at(done, null).at(-1), { type: 'finished', incomplete: false })
  assert.deepEqual(at(done, readerStatus()), [{ type: 'replayed' }])
  assert.deepEqual(at('unheard'), [{ type: 'replayed' }])
  assert.deepEqual(at('unheard', null), [])
  // Its last steps are in no checkpoint yet.
  assert.deepEqual(at(outcomeAt(199), null), [{ type: 'replayed' }])
})

test('judge: a training that cannot go on ends the run, with its own remedy', () => {
  const gaveUp = { reason: 'the checkpoint is of another training', remedy: 'Name another.' }
  const training = trainingStatus({ trainer: { gaveUp } })
  const [lost] = judgeAll({ source: readerStatus(), ledger: ledgerStatus(), training })
  assert.ok(lost?.type === 'gaveUp' && lost.failure.kind === 'invalid')
  assert.match(lost.failure.message, /the checkpoint is of another training/)
  assert.equal(lost.failure.remedy, 'Name another.')
})

test('judge: before its first step a training is refused, unless samples were stored', () => {
  const gaveUp = { reason: 'the checkpoint holds NaN', remedy: 'Name another.' }
  const training = trainingStatus({ trainer: { step: 40, last: null, gaveUp } })
  const none = { samples: 0, bytes: 0, tokens: 0 }
  for (const [ledger, hasLearnt, type] of [
    [ledgerStatus({ segments: 0, stored: none }), false, 'refused'],
    [ledgerStatus({ segments: 0, stored: none }), true, 'gaveUp'],
    [ledgerStatus(), false, 'gaveUp'],
  ] as const) {
    const [told] = judgeHeard({ source: null, ledger, training, hasLearnt })
    assert.ok(told?.type === type && told.failure.remedy === 'Name another.')
    assert.match(told.failure.message, /the checkpoint holds NaN/)
  }
})

test('judge: without its checkpoints a training does not go on', () => {
  const gaveUp = { reason: 'no checkpoint was saved for 30 minutes', remedy: null }
  const training = trainingStatus({ checkpoints: { gaveUp } })
  const [lost] = judgeAll({ source: null, ledger: ledgerStatus(), training })
  assert.ok(lost?.type === 'gaveUp' && lost.failure.message === gaveUp.reason)
})
