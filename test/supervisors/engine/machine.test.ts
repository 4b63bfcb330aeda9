import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActor } from 'xstate'
import { SimulatedClock } from '../../../src/clock.ts'
import { type ChildEvent, childMachine } from '../../../supervisors/engine/machine.ts'

function child(...events: ChildEvent['type'][]) {
  const clock = new SimulatedClock()
  const actor = createActor(childMachine, { clock }).start()
  const send = (type: ChildEvent['type']) =>
    actor.send(type === 'crashed' ? { type, delayMs: 500 } : { type })
  events.forEach(send)
  return { clock, send, state: () => actor.getSnapshot().value }
}

test('child: due, starting, running, draining, stopped', () => {
  const { send, state } = child()
  assert.equal(state(), 'due')
  for (const [event, next] of [
    ['start', 'starting'],
    ['ready', 'running'],
    ['drain', 'draining'],
    ['stopped', 'stopped'],
  ] as const) {
    send(event)
    assert.equal(state(), next)
  }
})

test('child: a crash waits for its own backoff, and no other event cuts it short', () => {
  const { clock, send, state } = child('start', 'ready', 'crashed')
  for (const event of ['start', 'ready', 'drain', 'ended'] as const) {
    send(event)
    assert.equal(state(), 'crashed')
  }
  clock.advance(499)
  assert.equal(state(), 'crashed')
  clock.advance(1)
  assert.equal(state(), 'due')
})

test('child: one that is stopped in its backoff never becomes due', () => {
  const { clock, state } = child('start', 'crashed', 'stopped')
  clock.advance(1_000_000)
  assert.equal(state(), 'stopped')
})

test('child: stopped and abandoned children start only after someone renews them', () => {
  for (const end of ['stopped', 'abandoned'] as const) {
    const { send, state } = child('start', 'ready', end)
    for (const event of ['start', 'ready', 'crashed', 'ended'] as const) send(event)
    assert.equal(state(), end)
    send('renewed')
    send('start')
    assert.equal(state(), 'starting')
  }
})

test('child: a late word that it is ready does not revive one that has crashed', () => {
  const { send, state } = child('start', 'crashed')
  send('ready')
  assert.equal(state(), 'crashed')
})
