import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RowsSoFar } from '../../../supervisors/run/rows-so-far.ts'
import { readerStatus } from '../../support/statuses.ts'

const batches = (done: number, leased = 2) => ({ planned: 40, leased, done })

test('rows so far: of one reader they are what it told', () => {
  const rows = new RowsSoFar()
  for (const done of [0, 3]) {
    const told = readerStatus({ batches: batches(done) })
    assert.deepEqual(rows.note(told, 30), told)
  }
})

test('rows so far: a new reader takes nothing back, nor finds what was just extracted', () => {
  const rows = new RowsSoFar()
  const first = readerStatus({ batches: batches(17) })
  rows.note(first, 250)
  const none = { found: 0, rowsDone: 0, tokensDone: 0, repeated: 0, skipped: {} }
  const anew = readerStatus({ ...none, examined: 0, batches: batches(0, 0) })
  assert.deepEqual(rows.note(anew, 260), { ...first, batches: batches(17, 0) })

  // The whole of it, and 100 rows that were there behind those that the first has seen.
  const whole = { examined: 1000, found: 560, rowsDone: 900, tokensDone: 9000, repeated: 9 }
  const later = readerStatus({ ...whole, batches: batches(1) })
  assert.deepEqual(rows.note(later, 270), { ...later, found: 300, batches: batches(18) })
})

test('rows so far: where all was done before, the third still tells what the first did', () => {
  const rows = new RowsSoFar()
  const all = { examined: 1000, rowsDone: 1000, tokensDone: 10_000 }
  const outcome = { committed: 992, quarantined: 0, failed: 0 }
  rows.note(readerStatus({ ...all, found: 0, batches: batches(40, 0), outcome }), 992)
  for (const examined of [100, 1000]) {
    const told = readerStatus({
      ...{ examined, found: examined - 8, rowsDone: examined, tokensDone: 10 * examined },
      batches: batches(0, 0),
    })
    const { found, rowsDone, batches: shown } = rows.note(told, 992)
    assert.deepEqual([found, rowsDone, shown.done], [0, 1000, 40])
  }
  const third = readerStatus({ examined: 10, found: 2, rowsDone: 10, batches: batches(0, 0) })
  const shown = rows.note(third, 992)
  assert.deepEqual([shown.examined, shown.found, shown.batches.done], [1000, 0, 40])
  assert.deepEqual(shown.outcome, outcome)
})
