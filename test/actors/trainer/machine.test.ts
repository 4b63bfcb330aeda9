import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActor, fromPromise, waitFor } from 'xstate'
import { type Gathered, hasDrained, trainerMachine } from '../../../actors/trainer/machine.ts'
import { Failure, type FailureKind } from '../../../src/failure.ts'

/** A trainer whose start meets this. */
function meeting(error: unknown) {
  const restore = fromPromise<void, void>(() => Promise.reject(error))
  const machine = trainerMachine.provide({ actors: { restore } })
  return createActor(machine, { input: { paused: false } })
}

for (const kind of ['invalid', 'corrupt'] as const satisfies FailureKind[]) {
  test(`trainer: what is ${kind} would be met again: nothing more is done`, async () => {
    const failure = new Failure(kind, 'no such training')
    const life = meeting(failure).start()
    const { context } = await waitFor(life, (state) => state.matches({ work: 'failed' }))
    assert.equal(context.failure, failure)
    life.send({ type: 'drain' })
    await hasDrained(life)
  })
}

test('trainer: what may pass, and a bug, end the thread', async () => {
  for (const error of [new Failure('unavailable', 'the actor is not there'), new Error('a bug')]) {
    const life = meeting(error)
    const thrown = new Promise((resolve) => life.subscribe({ error: resolve }))
    life.start()
    assert.equal(await thrown, error)
  }
})

test('trainer: one that has finished says so, drained or not', async () => {
  const machine = trainerMachine.provide({
    actors: {
      restore: fromPromise<void, void>(async () => undefined),
      gather: fromPromise<Gathered, void>(async () => ({ kind: 'finished' })),
      measure: fromPromise<void, void>(async () => undefined),
    },
  })
  const life = createActor(machine, { input: { paused: false } }).start()
  await waitFor(life, (state) => state.matches({ work: 'finished' }))
  life.send({ type: 'drain' })
  await hasDrained(life)
  assert.equal(life.getSnapshot().value.work, 'finished')
})
