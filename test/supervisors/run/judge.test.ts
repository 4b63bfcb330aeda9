import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge } from '../../../supervisors/run/judge.ts'
import { importerStatus, ledgerStatus, readerStatus } from '../../support/statuses.ts'

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
