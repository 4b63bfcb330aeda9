import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import type { TreeEvent } from '../../../supervisors/engine/events.ts'
import { NotStarted, refusedStart } from '../../../supervisors/refused-start.ts'
import { FailedStarts } from '../../../supervisors/run/failed-starts.ts'

const started = (child: string): TreeEvent => ({ kind: 'started', child, generation: 2 })

const died = (child: string, kind: 'unavailable' | 'corrupt'): TreeEvent => {
  const failure = new Failure(kind, 'it cannot start', { remedy: 'See the store.' })
  return { kind: 'died', child, death: { child, cause: 'start', reason: '', failure } }
}

test('store: away while the ledger starts again and again, it is given up in its time', () => {
  const clock = new SimulatedClock()
  const starts = new FailedStarts(clock, { deadlineMinutes: 30 })
  assert.equal(starts.note(died('ledger', 'unavailable')), undefined)
  assert.equal(starts.ledgerFailing?.message, 'it cannot start')
  clock.advance(30 * 60_000 - 1)
  assert.equal(starts.note(died('ledger', 'unavailable')), undefined)
  clock.advance(1)
  const failure = starts.note(died('ledger', 'unavailable'))
  assert.deepEqual([failure?.kind, failure?.remedy], ['unavailable', 'See the store.'])
  assert.match(failure?.message ?? '', /could not start .*actor=ledger, minutes=30/)
})

test('store: away while a loader starts again and again, it is given up in its time', () => {
  const clock = new SimulatedClock()
  const starts = new FailedStarts(clock, { deadlineMinutes: 30 })
  starts.note(started('ledger'))
  starts.note(died('loader', 'unavailable'))
  assert.equal(starts.ledgerFailing, null)
  clock.advance(30 * 60_000)
  assert.match(starts.note(died('loader', 'unavailable'))?.message ?? '', /actor=loader/)
})

test('store: who starts while the ledger is away is not charged for that', () => {
  const clock = new SimulatedClock()
  const starts = new FailedStarts(clock, { deadlineMinutes: 30 })
  for (const event of [started('ledger'), died('loader', 'unavailable')]) starts.note(event)
  starts.note(died('ledger', 'unavailable'))
  clock.advance(20 * 60_000)
  starts.note(died('loader', 'unavailable'))
  starts.note(started('ledger'))
  clock.advance(20 * 60_000)
  assert.equal(starts.note(died('loader', 'unavailable')), undefined)
})

test('store: what is no absence of the store counts for none', () => {
  const clock = new SimulatedClock()
  const starts = new FailedStarts(clock, { deadlineMinutes: 1 })
  for (const other of [died('ledger', 'corrupt'), died('reader', 'unavailable')]) starts.note(other)
  assert.equal(starts.ledgerFailing, null)
  starts.note(died('ledger', 'unavailable'))
  clock.advance(60_000)
  starts.note(started('ledger'))
  assert.equal(starts.ledgerFailing, null)
  assert.equal(starts.note(died('ledger', 'unavailable')), undefined)
})

test('store: a ledger that the system did not start, or that was late, tells nothing of it', () => {
  const starts = new FailedStarts(new SimulatedClock(), { deadlineMinutes: 1 })
  const refused = Object.assign(new Error('spawn'), { code: 'EAGAIN', syscall: 'spawn' })
  const late = new NotStarted('unavailable', 'not ready in time')
  for (const failure of [refusedStart('ledger', refused), late]) {
    const death = { child: 'ledger', cause: 'start', reason: '', failure } as const
    starts.note({ kind: 'died', child: 'ledger', death })
    assert.equal(starts.ledgerFailing, null)
  }
})
