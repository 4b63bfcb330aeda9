import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import type { TreeEvent } from '../../../supervisors/engine/events.ts'
import { LedgerStarts } from '../../../supervisors/run/ledger-starts.ts'

const started: TreeEvent = { kind: 'started', child: 'ledger', generation: 2 }

const died = (child: string, kind: 'unavailable' | 'corrupt'): TreeEvent => {
  const failure = new Failure(kind, 'it cannot start')
  return { kind: 'died', child, death: { child, cause: 'start', reason: '', failure } }
}

test('store: away while the ledger starts again and again, it is given up in its time', () => {
  const clock = new SimulatedClock()
  const store = new LedgerStarts(clock, { deadlineMinutes: 30 })
  assert.equal(store.note(died('ledger', 'unavailable')), undefined)
  assert.equal(store.areFailing, true)
  clock.advance(30 * 60_000 - 1)
  assert.equal(store.note(died('ledger', 'unavailable')), undefined)
  clock.advance(1)
  const failure = store.note(died('ledger', 'unavailable'))
  assert.equal(failure?.kind, 'unavailable')
  assert.match(failure.message, /30 minutes/)
})

test('store: what is no absence of the store counts for none', () => {
  const clock = new SimulatedClock()
  const store = new LedgerStarts(clock, { deadlineMinutes: 1 })
  for (const other of [died('ledger', 'corrupt'), died('reader', 'unavailable')]) store.note(other)
  assert.equal(store.areFailing, false)
  store.note(died('ledger', 'unavailable'))
  clock.advance(60_000)
  store.note(started)
  assert.equal(store.areFailing, false)
  assert.equal(store.note(died('ledger', 'unavailable')), undefined)
})
