import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Saver, type SaverParts } from '../../../actors/checkpointer/saver.ts'
import type { CheckpointRef } from '../../../protocol/checkpointer.ts'
import type { Capture } from '../../../protocol/trainer.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { now, trainedAt, training } from '../../src/checkpoint/trained.ts'
import { silent } from '../../support/ledger-rig.ts'

const minute = 60_000
const away = new Failure('unavailable', 'the store is away', { remedy: 'Bring it back.' })

const unsound = new Failure('invalid', 'what was trained holds NaN', { remedy: 'Go back.' })

const refOf = (step: number, savedAt = now): CheckpointRef => ({
  name: `of-${step}`,
  training,
  step,
  heldOutLoss: null,
  bytes: 100,
  savedAt,
})

/** A saver whose trainer is at `step`, and whose saves wait to be let go. */
function rig(overrides: Partial<SaverParts> = {}) {
  const clock = new SimulatedClock(now)
  const began: number[] = []
  const pruned: string[] = []
  const ends: ((failure?: Failure) => void)[] = []
  const trainer = { step: 10, sound: true }
  const saver = new Saver({
    checkpoints: {
      sweep: async () => undefined,
      unsoundness: async () => (trainer.sound ? null : unsound),
      save: ({ progress: { step } }) => {
        began.push(step)
        return new Promise((resolve, reject) => {
          ends.push((failure) => (failure ? reject(failure) : resolve(refOf(step, clock.now()))))
        })
      },
      prune: async (of) => void pruned.push(of),
    },
    capture: async (saved): Promise<Capture> =>
      saved?.step === trainer.step
        ? { kind: 'saved' }
        : { kind: 'state', state: trainedAt(trainer.step) },
    everyMinutes: 30,
    deadlineMinutes: 30,
    clock,
    log: silent,
    ...overrides,
  })
  /** The save under way ends so. */
  const end = async (failure?: Failure) => {
    await turn()
    ends.shift()?.(failure)
    await turn()
  }
  const pass = async (ms: number) => {
    await turn()
    clock.advance(ms)
    await turn()
  }
  return { saver, clock, began, pruned, trainer, end, pass }
}

test('saver: what holds NaN is captured once, and ends the training', async () => {
  const captures: number[] = []
  const { saver, began, trainer, pass } = rig({
    capture: async () => {
      captures.push(trainer.step)
      return { kind: 'state', state: trainedAt(trainer.step) }
    },
  })
  trainer.sound = false
  await assert.rejects(saver.save(), unsound)
  const reason = 'no checkpoint could be saved: what was trained holds NaN'
  assert.deepEqual(saver.status().gaveUp, { reason, remedy: 'Go back.' })
  await pass(60 * minute)
  await assert.rejects(saver.save(), { kind: 'unavailable', cause: unsound })
  await saver.drain()
  assert.deepEqual([began, captures, saver.status().state], [[], [10], 'lost'])
})

test('saver: NaN that the drain meets is told, and waited for no longer', async () => {
  const { saver, began, trainer } = rig()
  trainer.sound = false
  await saver.drain()
  assert.deepEqual([began, saver.status().state], [[], 'lost'])
  assert.equal(saver.status().gaveUp?.remedy, 'Go back.')
})

test('saver: who asks while one is saved is answered by the next, all by one', async () => {
  const { saver, began, trainer, end } = rig()
  const first = saver.save()
  await turn()
  trainer.step = 11
  const later = [saver.save(), saver.save(), saver.save()]
  assert.deepEqual([began, saver.status().state], [[10], 'sending'])
  await end()
  assert.equal((await first)?.step, 10)
  await end()
  assert.deepEqual(
    (await Promise.all(later)).map((ref) => ref?.step),
    [11, 11, 11],
  )
  assert.deepEqual([began, saver.status().state], [[10, 11], 'idle'])
})

test('saver: saves every so many minutes, counted from the last, and prunes after', async () => {
  const { saver, began, pruned, trainer, end, pass } = rig()
  await pass(30 * minute - 1)
  assert.deepEqual(began, [])
  await pass(1)
  assert.deepEqual(began, [10])
  await pass(20 * minute)
  await end()
  trainer.step = 20
  await pass(30 * minute - 1)
  assert.deepEqual(began, [10])
  await pass(1)
  await end()
  assert.deepEqual(
    [began, pruned],
    [
      [10, 20],
      [training, training],
    ],
  )
  await pass(3 * minute)
  assert.equal(saver.work, 'idle, step 20 saved 3 min ago')
})

test('saver: what is saved, or was restored, is not saved again', async () => {
  const { saver, began } = rig()
  saver.restored(refOf(10))
  assert.equal((await saver.save())?.step, 10)
  assert.deepEqual([began, saver.status().state], [[], 'idle'])
})

test('saver: before the training has begun there is nothing to save', async () => {
  const { saver, began } = rig({ capture: async () => ({ kind: 'none' }) })
  assert.equal(await saver.save(), null)
  assert.deepEqual(began, [])
})

test('saver: a save that fails is told, and tried again with what is trained by then', async () => {
  const { saver, began, clock, trainer, end, pass } = rig()
  const saving = saver.save()
  await end(away)
  const { state, lastError, failingSince, gaveUp } = saver.status()
  assert.deepEqual([state, lastError, failingSince], ['waiting', 'the store is away', clock.now()])
  assert.equal(gaveUp, null)
  assert.equal(saver.work, 'waiting, failing: the store is away')
  trainer.step = 12
  await pass(5000)
  await end()
  assert.equal((await saving)?.step, 12)
  assert.deepEqual([began, saver.status().lastError], [[10, 12], null])
})

test('saver: saves that fail end no training before the deadline, and give up after', async () => {
  const { saver, end, pass } = rig()
  const saving = saver.save()
  for (let waited = 0; waited < 30 * minute; waited += 5000) {
    await end(away)
    assert.deepEqual([saver.status().state, saver.status().gaveUp], ['waiting', null])
    await pass(5000)
  }
  const later = saver.save()
  await end(away)
  await assert.rejects(saving, away)
  await assert.rejects(later, away)
  const reason = 'no checkpoint could be saved: the store is away'
  assert.deepEqual(saver.status().gaveUp, { reason, remedy: 'Bring it back.' })
  await assert.rejects(saver.save(), { kind: 'unavailable', cause: away })
  await saver.drain()
  assert.equal(saver.status().gaveUp?.reason, reason)
})

test('saver: the drain saves what was trained last, after what is under way', async () => {
  const { saver, began, trainer, end, pass } = rig()
  void saver.save()
  await turn()
  trainer.step = 15
  const drained = saver.drain()
  await end()
  await end()
  await drained
  assert.deepEqual([began, saver.status().state], [[10, 15], 'closed'])
  trainer.step = 16
  await pass(60 * minute)
  assert.deepEqual(began, [10, 15])
  await assert.rejects(saver.save(), { kind: 'unavailable' })
})

test('saver: the drain does not wait for a trainer that is gone', async () => {
  const gone = new Failure('unavailable', 'the actor is not there')
  const { saver } = rig({
    capture: async () => {
      throw gone
    },
  })
  await saver.drain()
  assert.equal(saver.status().state, 'closed')
})

test('saver: what cannot be put in order fails no save', async () => {
  const refuse = async () => {
    throw away
  }
  const unsoundness = async () => null
  const checkpoints = { unsoundness, save: async () => refOf(10), prune: refuse, sweep: refuse }
  const { saver } = rig({ checkpoints })
  assert.equal((await saver.save())?.step, 10)
  assert.deepEqual([saver.status().state, saver.status().lastError], ['idle', null])
})

test('saver: another time between saves counts from the last one', async () => {
  const { saver, began, trainer, end, pass } = rig()
  await pass(10 * minute)
  saver.every(15)
  await pass(5 * minute - 1)
  assert.deepEqual(began, [])
  await pass(1)
  assert.deepEqual(began, [10])
  await end()
  trainer.step = 11
  await pass(10 * minute)
  saver.every(1)
  await pass(0)
  assert.deepEqual(began, [10, 11])
  await end()
})
