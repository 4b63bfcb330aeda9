import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SimulatedClock } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { drainInTime } from '../../../supervisors/run/drain-in-time.ts'

/** What was done, each with the second at which it was. */
function rig(commit: () => Promise<void>) {
  const clock = new SimulatedClock()
  const story: string[] = []
  const note = (what: string) => void story.push(`${what} at ${clock.now() / 1000}`)
  const parts = {
    clock,
    pause: async () => note('pause'),
    commit: async () => {
      note('commit')
      await commit()
    },
    drain: () => note('drain'),
    hurry: () => note('hurry'),
    die: () => note('die'),
  }
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await turn()
      clock.advance(1000)
    }
    await turn()
  }
  return { parts, pass, story }
}

test('drain in time: the commit comes first, then all drains, then it is left', async () => {
  const { parts, pass, story } = rig(async () => undefined)
  void drainInTime(120_000, parts)
  await pass(121)
  const first = ['pause at 0', 'commit at 0', 'drain at 0']
  assert.deepEqual(story, [...first, 'commit at 110', 'hurry at 110', 'die at 120'])
})

test('drain in time: a store that is away keeps nothing else waiting', async () => {
  const { parts, pass, story } = rig(() => new Promise(() => undefined))
  void drainInTime(20_000, parts)
  await pass(30)
  const done = [
    'pause at 0',
    'commit at 0',
    'drain at 5',
    'commit at 15',
    'hurry at 18',
    'die at 20',
  ]
  assert.deepEqual(story, done)
  const away = rig(() => Promise.reject(new Failure('unavailable', 'away')))
  void drainInTime(8000, away.parts)
  await away.pass(10)
  assert.equal(away.story.at(-1), 'die at 8')
})
