import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import type { Outcome, Release } from '../../../src/store/limited.ts'
import { Permits, type TransferKind } from '../../../src/store/permits.ts'

/** What a question came to so far. */
interface Asked {
  permit: Release | null | 'waits'
}

function ask(permits: Permits, asker: string, kind: TransferKind = 'sample', waitMs = 1000): Asked {
  const asked: Asked = { permit: 'waits' }
  void permits.acquire(asker, kind, waitMs).then((permit) => {
    asked.permit = permit
  })
  return asked
}

/** Gives it back, where it was granted. */
function giveBack({ permit }: Asked, outcome: Outcome = 'answered'): void {
  if (typeof permit === 'function') permit(outcome)
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const granted = (asked: Asked[]) => asked.filter((one) => typeof one.permit === 'function').length

test('permits: samples take all but one in twenty, which the manifest alone may have', async () => {
  const permits = new Permits(100, { clock: new SimulatedClock() })
  const samples = Array.from({ length: 150 }, () => ask(permits, 'uploader/0'))
  await settled()
  assert.equal(granted(samples), 95)
  const manifest = Array.from({ length: 8 }, () => ask(permits, 'ledger', 'manifest'))
  await settled()
  assert.equal(granted(manifest), 5)
  assert.equal(permits.status.open, 100)
  assert.equal(permits.status.peak, 100)
})

test('permits: a checkpoint takes of those that are kept, but for one', async () => {
  const permits = new Permits(100, { clock: new SimulatedClock() })
  const samples = Array.from({ length: 100 }, () => ask(permits, 'uploader/0'))
  const parts = Array.from({ length: 8 }, () => ask(permits, 'checkpointer', 'checkpoint'))
  await settled()
  assert.deepEqual([granted(samples), granted(parts)], [95, 4])
  const segment = ask(permits, 'ledger', 'manifest')
  await settled()
  assert.equal(granted([segment]), 1)
  giveBack(segment)
  giveBack(parts[0])
  await settled()
  assert.equal(granted(parts), 5)
})

test('permits: where one is kept, manifest and checkpoint take turns', async () => {
  const permits = new Permits(20, { clock: new SimulatedClock() })
  const samples = Array.from({ length: 30 }, () => ask(permits, 'uploader/0'))
  const parts = [1, 2].map(() => ask(permits, 'checkpointer', 'checkpoint'))
  const segment = ask(permits, 'ledger', 'manifest')
  await settled()
  assert.deepEqual([granted(samples), granted(parts), granted([segment])], [19, 1, 0])
  giveBack(parts[0])
  giveBack(parts[1])
  await settled()
  assert.equal(granted([segment]), 0)
  giveBack(samples[0])
  await settled()
  assert.deepEqual([granted(parts), granted([segment])], [2, 0])
})

test('permits: of two, one is kept for the manifest; a single one serves both', async () => {
  const two = new Permits(2, { clock: new SimulatedClock() })
  const samples = [ask(two, 'a'), ask(two, 'a')]
  const one = new Permits(1, { clock: new SimulatedClock() })
  const only = ask(one, 'a')
  const segment = ask(one, 'ledger', 'manifest')
  await settled()
  assert.equal(granted(samples), 1)
  assert.equal(granted([only, segment]), 1)
  giveBack(only)
  await settled()
  assert.equal(granted([segment]), 1)
})

test('permits: one that comes back goes to the oldest question, and only once', async () => {
  const permits = new Permits(1, { clock: new SimulatedClock() })
  const asked = [ask(permits, 'a'), ask(permits, 'b'), ask(permits, 'c')]
  await settled()
  giveBack(asked[0])
  giveBack(asked[0])
  await settled()
  assert.deepEqual(
    asked.map(({ permit }) => typeof permit),
    ['function', 'function', 'string'],
  )
  assert.equal(permits.status.open, 1)
})

test('permits: a question that waited long enough is answered null', async () => {
  const clock = new SimulatedClock()
  const permits = new Permits(1, { clock })
  const holder = ask(permits, 'a')
  const late = ask(permits, 'b')
  await settled()
  clock.advance(1000)
  await settled()
  assert.equal(late.permit, null)
  giveBack(holder)
  assert.equal(permits.status.open, 0)
})

test('permits: those of an asker that ended come back, and its questions are dropped', async () => {
  const permits = new Permits(3, { clock: new SimulatedClock() })
  const dead = Array.from({ length: 4 }, () => ask(permits, 'uploader/0'))
  const living = ask(permits, 'uploader/1')
  await settled()
  assert.equal(granted([living]), 0)
  permits.askerEnded('uploader/0')
  await settled()
  assert.equal(granted([living]), 1)
  assert.deepEqual(
    dead.slice(2).map(({ permit }) => permit),
    [null, null],
  )
  assert.equal(permits.status.open, 1)
})

test('permits: lowered while more are open, none is granted until enough came back', async () => {
  const permits = new Permits(10, { clock: new SimulatedClock() })
  const open = Array.from({ length: 10 }, () => ask(permits, 'a', 'manifest'))
  const waiting = ask(permits, 'b', 'manifest')
  await settled()
  permits.setMax(4)
  for (const one of open.splice(0, 6)) giveBack(one)
  await settled()
  assert.equal(permits.status.open, 4)
  assert.equal(waiting.permit, 'waits')
  for (const one of open.splice(0, 1)) giveBack(one)
  await settled()
  assert.equal(granted([waiting]), 1)
  permits.setMax(10)
  assert.equal(granted([waiting]), 1)
})

test('permits: a taker asks until it has one, and gives it back by what it got', async () => {
  const clock = new SimulatedClock()
  const permits = new Permits(1, { clock })
  const release = await permits.taker('supervisor', 'manifest')()
  const second = permits.taker('supervisor', 'manifest')()
  await settled()
  clock.advance(60_000)
  await settled()
  release('answered')
  const releaseSecond = await second
  assert.equal(permits.status.open, 1)
  releaseSecond('answered')
  assert.equal(permits.status.open, 0)
})

test('permits: whatever comes and goes, never more than the cap at once (seeded)', async () => {
  const seed = 20
  const random = seededRandom(seed)
  const clock = new SimulatedClock()
  const permits = new Permits(7, { clock })
  const asked: Asked[] = []
  for (let step = 0; step < 2000; step++) {
    const dice = random()
    const asker = `uploader/${Math.floor(random() * 3)}`
    const kind = random() < 0.2 ? 'manifest' : 'sample'
    if (dice < 0.55) asked.push(ask(permits, asker, kind, 50))
    else if (dice < 0.9) {
      const outcomes = ['answered', 'answered', 'throttled', 'lost'] as const
      const some = asked[Math.floor(random() * asked.length)] ?? { permit: null }
      giveBack(some, outcomes[Math.floor(random() * outcomes.length)])
    } else if (dice < 0.92) permits.askerEnded(asker)
    else clock.advance(20)
    if (step % 10 === 0) await settled()
  }
  assert.equal(permits.status.peak, 7, `seed=${seed}`)
})

test('permits: a throttled round halves what samples may hold, and answers raise it', async () => {
  const told: string[] = []
  const clock = new SimulatedClock()
  const permits = new Permits(100, { clock, onAdapt: (adapted) => told.push(adapted) })
  const first = Array.from({ length: 200 }, () => ask(permits, 'uploader/0'))
  await settled()
  for (const one of first) giveBack(one, 'throttled')
  assert.equal(permits.status.inForce, 50)
  // The rest of the questions: those that fit under the lower cap.
  await settled()
  assert.equal(permits.status.open, 48)
  assert.deepEqual(told, ['lowered'])
  for (let round = 0; round < 60; round++) {
    const more = Array.from({ length: 100 }, () => ask(permits, 'uploader/0'))
    await settled()
    for (const one of [...first, ...more]) giveBack(one)
    clock.advance(1000)
    await settled()
    for (const one of more) giveBack(one)
  }
  assert.deepEqual(told, ['lowered', 'restored'])
  assert.equal(permits.status.inForce, 100)
})

test('permits: throttled manifest requests lower nothing; a lower cap keeps none', async () => {
  const permits = new Permits(100, { clock: new SimulatedClock() })
  const segments = Array.from({ length: 5 }, () => ask(permits, 'ledger', 'manifest'))
  await settled()
  for (const one of segments) giveBack(one, 'throttled')
  assert.equal(permits.status.inForce, 100)
  const samples = Array.from({ length: 95 }, () => ask(permits, 'uploader/0'))
  await settled()
  giveBack(samples[0], 'throttled')
  assert.equal(permits.status.inForce, 50)
  // Ninety-four samples still hang, more than the cap in force: the manifest is written anyway.
  const segment = ask(permits, 'ledger', 'manifest')
  await settled()
  assert.equal(granted([segment]), 1)
})
