import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { PeerEnded } from '../../../protocol/channel.ts'
import type { ChildSpec, Death } from '../../../protocol/child.ts'
import { deferred } from '../../../protocol/deferred.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Incarnation } from '../../../supervisors/engine/incarnation.ts'
import { Thread } from '../../../supervisors/engine/thread.ts'
import { puppet } from '../../support/trees.ts'

/** Actors whose port is gone while they live on: nobody hears of them, though their heart beats. */

/** A start whose port the test closes; its clock stands still but for the test. */
function started(t: TestContext, spec: ChildSpec) {
  const clock = new SimulatedClock()
  const death = deferred<Death>()
  const deaths: Death[] = []
  const threads: Thread[] = []
  const thread = (start: ConstructorParameters<typeof Thread>[0]) => {
    const made = new Thread(start)
    threads.push(made)
    return made
  }
  const incarnation = new Incarnation({
    ...{ spec, generation: 1, clock, log: { level: 'info', stderr: 'none' } },
    vessels: { thread, process: thread, pair: () => new MessageChannel() },
    onWait: () => assert.fail('it is in no native code'),
    onEnd: (told) => {
      deaths.push(told)
      death.resolve(told)
    },
    onWedged: () => assert.fail('it is in no native code'),
  })
  t.after(() => incarnation.end({ cause: 'ordered', reason: 'the test is over' }, 0))
  /** Its time passes, once it is known that the port is closed. */
  const closePort = async () => {
    const { control } = threads[0] ?? assert.fail('it has no thread')
    const closed = once(control, 'close')
    control.close()
    await closed
    clock.advance(14_999)
    for (let turns = 0; turns < 10; turns++) await turn()
    assert.equal(deaths.length, 0)
    clock.advance(1)
  }
  return { incarnation, death: death.promise, closePort }
}

const says = ({ cause, reason }: Death) => `${cause}: ${reason}`

test('one whose port closes at its start, and that lives on, is ended in its time', async (t) => {
  const mute = puppet('puppet', { input: { mute: true, beatsAtStart: 1 } })
  const { incarnation, death, closePort } = started(t, mute)
  const ready = incarnation.ready()
  while (incarnation.reading().beats === 0) await turn()
  await closePort()
  assert.equal(await ready, false)
  assert.equal(says(await death), 'start: its port has closed, and it lived on')
})

test('one whose port closes when it is up, and that lives on, is ended in its time', async (t) => {
  // It has not drained when its port closes.
  const slow = puppet('puppet', { input: { drainTakesMs: 60_000 } })
  const { incarnation, death, closePort } = started(t, slow)
  assert.equal(await incarnation.ready(), true)
  const drained = incarnation.drain()
  drained.catch(() => undefined)
  await closePort()
  assert.equal(says(await death), 'crash: its port has closed, and it lived on')
  await assert.rejects(drained, PeerEnded)
})
