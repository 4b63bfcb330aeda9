import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Admission } from '../../../actors/ledger/admission.ts'
import { Grants, newGrants } from '../../../actors/ledger/grants.ts'
import { Room } from '../../../actors/ledger/room.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Guests } from '../../../src/spool/guests.ts'
import { scratch } from '../../support/target-run.ts'

test('admission: a spool that keeps filling is told once a minute, with how often', async (t) => {
  const clock = new SimulatedClock()
  const room = new Room({ maxBytes: 10, keepFree: 0 }, new Grants(newGrants(['extractor/0'])))
  const lines: { why: string; waits: number }[] = []
  const admission = new Admission({
    room,
    guests: new Guests(await scratch(t)),
    clock,
    log: pino({}, { write: (line) => lines.push(JSON.parse(line)) }),
    free: async () => 1000,
    committer: { bytes: 0, waiting: 0, hurry: () => undefined },
    toSend: () => 1,
    adopt: async () => undefined,
  })
  /** Asks while it is full, and has room once it is not. */
  const waitsOnce = async () => {
    room.added(10)
    const answer = admission.room('extractor/0', 5)
    while (admission.full === null) await turn()
    room.removed(10)
    while (admission.full !== null) {
      await turn()
      clock.advance(100)
    }
    assert.ok(await answer)
    room.clear('extractor/0')
  }
  for (let n = 0; n < 20; n++) await waitsOnce()
  assert.deepEqual(
    lines.map(({ waits }) => waits),
    [1],
  )
  clock.advance(60_000)
  await waitsOnce()
  assert.deepEqual(
    lines.map(({ waits }) => waits),
    [1, 20],
  )
  assert.match(lines[1]?.why ?? '', /^spool.maxBytes is reached/)
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
