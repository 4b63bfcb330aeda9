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

test('judge: a lost store outweighs the rest; a dataset of no usable row is refused', () => {
  const [lost] = judge(
    readerStatus({ outcome }),
    ledgerStatus({ gaveUp: 'nothing for 30 minutes' }),
  )
  assert.ok(lost?.type === 'gaveUp' && /See the store/.test(lost.failure.remedy ?? ''))
  const none = { committed: 0, quarantined: 0, failed: 0 }
  const [refused] = judge(readerStatus({ outcome: none }), ledgerStatus())
  assert.ok(refused?.type === 'gaveUp' && refused.failure.kind === 'invalid')
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
