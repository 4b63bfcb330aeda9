import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import { Permits, type TransferKind } from '../../../src/store/permits.ts'

/** What a question came to so far. */
interface Asked {
  id: number | null | 'waits'
}

function ask(permits: Permits, asker: string, kind: TransferKind = 'sample', waitMs = 1000): Asked {
  const asked: Asked = { id: 'waits' }
  void permits.acquire(asker, kind, waitMs).then((id) => {
    asked.id = id
  })
  return asked
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const granted = (asked: Asked[]) => asked.filter(({ id }) => typeof id === 'number').length

test('permits: samples take all but one in twenty, which the manifest alone may have', async () => {
  const permits = new Permits(100, { clock: new SimulatedClock() })
  const samples = Array.from({ length: 150 }, () => ask(permits, 'uploader/0'))
  await settled()
  assert.equal(granted(samples), 95)
  const manifest = Array.from({ length: 8 }, () => ask(permits, 'ledger', 'manifest'))
  await settled()
  assert.equal(granted(manifest), 5)
  assert.equal(permits.open, 100)
  assert.equal(permits.peak, 100)
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
  if (typeof only.id === 'number') one.release(only.id)
  await settled()
  assert.equal(granted([segment]), 1)
})

test('permits: one that comes back goes to the oldest question, and only once', async () => {
  const permits = new Permits(1, { clock: new SimulatedClock() })
  const asked = [ask(permits, 'a'), ask(permits, 'b'), ask(permits, 'c')]
  await settled()
  const [first] = asked
  if (typeof first?.id !== 'number') assert.fail('the first question was not granted')
  permits.release(first.id)
  permits.release(first.id)
  await settled()
  assert.deepEqual(
    asked.map(({ id }) => typeof id),
    ['number', 'number', 'string'],
  )
  assert.equal(permits.open, 1)
})

test('permits: a question that waited long enough is answered null', async () => {
  const clock = new SimulatedClock()
  const permits = new Permits(1, { clock })
  const holder = ask(permits, 'a')
  const late = ask(permits, 'b')
  await settled()
  clock.advance(1000)
  await settled()
  assert.equal(late.id, null)
  if (typeof holder.id === 'number') permits.release(holder.id)
  assert.equal(permits.open, 0)
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
    dead.slice(2).map(({ id }) => id),
    [null, null],
  )
  assert.equal(permits.open, 1)
})

test('permits: lowered while more are open, none is granted until enough came back', async () => {
  const permits = new Permits(10, { clock: new SimulatedClock() })
  const open = Array.from({ length: 10 }, () => ask(permits, 'a', 'manifest'))
  const waiting = ask(permits, 'b', 'manifest')
  await settled()
  permits.setMax(4)
  const giveBack = (count: number) => {
    for (const { id } of open.splice(0, count)) if (typeof id === 'number') permits.release(id)
  }
  giveBack(6)
  await settled()
  assert.equal(permits.open, 4)
  assert.equal(waiting.id, 'waits')
  giveBack(1)
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
  release()
  const releaseSecond = await second
  assert.equal(permits.open, 1)
  releaseSecond()
  assert.equal(permits.open, 0)
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
      const { id } = asked[Math.floor(random() * asked.length)] ?? { id: null }
      if (typeof id === 'number') permits.release(id)
    } else if (dice < 0.92) permits.askerEnded(asker)
    else clock.advance(20)
    if (step % 10 === 0) await settled()
  }
  assert.equal(permits.peak, 7, `seed=${seed}`)
})

test('permits: those of two lives of the ledger never have one id', async () => {
  const before = new Permits(1)
  const after = new Permits(1, { firstId: 2 ** 32 + 1 })
  const old = await before.acquire('uploader/0', 'sample', 1000)
  await after.acquire('uploader/1', 'sample', 1000)
  if (old === null) assert.fail('no permit was granted')
  after.release(old)
  assert.equal(after.open, 1)
})
