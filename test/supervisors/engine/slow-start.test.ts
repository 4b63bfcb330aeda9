import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import type { Death } from '../../../protocol/child.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Incarnation } from '../../../supervisors/engine/incarnation.ts'
import { Thread } from '../../../supervisors/engine/thread.ts'
import { puppet } from '../../support/trees.ts'

test('a start that shows life has all its time again; one that is silent is ended', async () => {
  const clock = new SimulatedClock()
  const deaths: Death[] = []
  const spec = puppet('puppet', { input: { mute: true, beatsAtStart: 1 } })
  const { readyMs } = spec
  const started = new Incarnation({
    spec,
    generation: 1,
    clock,
    log: { level: 'info', stderr: 'none' },
    vessels: {
      thread: (start) => new Thread(start),
      process: (start) => new Thread(start),
      pair: () => new MessageChannel(),
    },
    onWait: () => assert.fail('it is in no native code'),
    onEnd: (death) => deaths.push(death),
    onWedged: (death) => deaths.push(death),
  })
  const ready = started.ready()
  while (started.reading().beats === 0) await turn()

  clock.advance(readyMs)
  for (let i = 0; i < 10; i++) await turn()
  assert.equal(deaths.length, 0)

  clock.advance(readyMs)
  assert.equal(await ready, false)
  assert.deepEqual(
    // It counts as the absence of what it waits for.
    deaths.map(({ cause, failure, reason }) => `${cause}, ${failure?.kind}: ${reason}`),
    [`start, unavailable: not ready in time. readyMs=${readyMs}`],
  )
})
