import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pulse } from '../../protocol/pulse.ts'

const pair = () => {
  const thread = new Pulse()
  return { thread, supervisor: new Pulse(thread.memory) }
}

test('pulse: a beat is seen on the other side, with what the actor is at', () => {
  const { thread, supervisor } = pair()
  const before = supervisor.read()
  thread.beat('3 leases')
  const after = supervisor.read()
  assert.ok(after.beats > before.beats)
  assert.equal(after.work, '3 leases')
  assert.equal(after.busy, undefined)
})

test('pulse: busy says what for and how long, idle ends it, each announcement is a new one', () => {
  const { thread, supervisor } = pair()
  thread.busy('batch b000017', 1_500.2)
  const first = supervisor.read()
  assert.deepEqual(first.busy, { work: 'batch b000017', deadlineMs: 1_501 })
  thread.busy('batch b000018', 10)
  assert.ok(supervisor.read().announced > first.announced)
  thread.idle()
  assert.equal(supervisor.read().busy, undefined)
})

test('pulse: long texts are cut after 96 bytes, between two characters', () => {
  const { thread, supervisor } = pair()
  thread.busy(`${'x'.repeat(95)}ü`, 1)
  assert.equal(supervisor.read().busy?.work, 'x'.repeat(95))
  thread.busy('ü'.repeat(100), 1)
  assert.equal(supervisor.read().busy?.work, 'ü'.repeat(48))
})

test('pulse: the two texts and the gate’s word do not touch each other', () => {
  const { thread, supervisor } = pair()
  Atomics.store(thread.gateWord, 0, 3)
  thread.beat('w'.repeat(200))
  thread.busy('b'.repeat(200), 7)
  const reading = supervisor.read()
  assert.deepEqual(reading.busy, { work: 'b'.repeat(96), deadlineMs: 7 })
  assert.equal(reading.work, 'w'.repeat(96))
  assert.equal(Atomics.load(supervisor.gateWord, 0), 3)
})
