import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActor, fromPromise } from 'xstate'
import { type Extracted, extractorMachine } from '../../../actors/extractor/machine.ts'
import type { NextBatch } from '../../../protocol/reader.ts'
import type { Batch } from '../../../protocol/sample.ts'
import { SimulatedClock } from '../../../src/clock.ts'

const batch: Batch = { id: 'b000001', rows: [], tokenIds: new Int32Array(0) }
const extracted: Extracted = { batch: 'b000001', spooled: [], quarantined: [] }

/** An extractor whose steps end when the test says how. */
function open() {
  const clock = new SimulatedClock()
  const steps: string[] = []
  const ends: { resolve: (output: never) => void; reject: (error: unknown) => void }[] = []
  const step = <Output, Input = void>(name: string) =>
    fromPromise<Output, Input>(({ input }) => {
      const of = input as { id?: string; batch?: string } | undefined
      steps.push([name, of?.id ?? of?.batch].filter(Boolean).join(' '))
      return new Promise<Output>((resolve, reject) => ends.push({ resolve, reject }))
    })
  const machine = extractorMachine.provide({
    actors: {
      ask: step<NextBatch>('ask'),
      room: step<boolean, Batch>('room'),
      compute: step<Extracted, Batch>('compute'),
      tell: step<void, Extracted>('tell'),
    },
  })
  const life = createActor(machine, { clock }).start()
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    clock,
    steps,
    life,
    work: () => life.getSnapshot().value.work,
    /** The step under way ends with `output`. */
    end: async (output: NextBatch | boolean | Extracted | undefined) => {
      ends.pop()?.resolve(output as never)
      await settle()
    },
  }
}

const aBatch: NextBatch = { kind: 'batch', batch }
const later: NextBatch = { kind: 'later' }
const finished: NextBatch = { kind: 'finished' }

test('extractor: it asks, waits for room, computes, tells, and asks again', async () => {
  const { end, steps } = open()
  for (const output of [aBatch, true, extracted, undefined]) await end(output)
  assert.deepEqual(steps, ['ask', 'room b000001', 'compute b000001', 'tell b000001', 'ask'])
})

test('extractor: nothing now means ask again; no room, wait on', async () => {
  const { end, steps } = open()
  for (const output of [later, later, aBatch, false, false, true]) await end(output)
  assert.deepEqual(
    steps.map((step) => step.split(' ')[0]),
    [...['ask', 'ask', 'ask'], ...['room', 'room', 'room'], 'compute'],
  )
})

test('extractor: told to drain, it ends the batch it computes and asks no more', async () => {
  const { end, steps, life, work } = open()
  await end(aBatch)
  await end(true)
  life.send({ type: 'drain' })
  assert.equal(work(), 'computing')
  await end(extracted)
  assert.equal(work(), 'telling')
  await end(undefined)
  assert.equal(work(), 'drained')
  assert.equal(steps.at(-1), 'tell b000001')
})

test('extractor: told to drain while it waits, it waits no longer', async () => {
  for (const before of [[], [later], [aBatch], [finished]]) {
    const { end, life, work } = open()
    for (const output of before) await end(output)
    life.send({ type: 'drain' })
    assert.equal(work(), 'drained')
  }
})

test('extractor: at the end it asks now and then, for a reader that has begun anew', async () => {
  const { clock, end, steps, work } = open()
  await end(finished)
  assert.equal(work(), 'finished')
  assert.equal(steps.length, 1)
  clock.advance(1000)
  assert.deepEqual(steps, ['ask', 'ask'])
  await end(aBatch)
  assert.equal(work(), 'waitingForRoom')
})
