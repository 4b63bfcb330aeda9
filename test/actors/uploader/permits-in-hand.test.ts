import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { PermitDesk } from '../../../actors/ledger/permit-desk.ts'
import { PermitsInHand } from '../../../actors/uploader/permits-in-hand.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { limited, type Outcome } from '../../../src/store/limited.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { Permits } from '../../../src/store/permits.ts'
import { retrying } from '../../../src/store/retry.ts'
import { Throttled } from '../../../src/store/throttled.ts'
import { faultyPuts } from '../../support/faulty-store.ts'
import { ledgerPeer } from '../../support/peers.ts'

/** A ledger of so many permits, and one who asks it; `asked` and `ended` are what it is told. */
function handOn(t: TestContext, max: number) {
  const permits = new Permits(max, { clock: new SimulatedClock() })
  const desk = new PermitDesk(permits, 'uploader/0')
  const asked: number[] = []
  const ended: Outcome[] = []
  const peer = ledgerPeer(t, {
    permit: (ask) => {
      asked.push(ask.ticket)
      return desk.ask(ask)
    },
    release: (end) => {
      ended.push(end.outcome)
      desk.release(end)
    },
  })
  return { permits, desk, asked, ended, hand: new PermitsInHand(peer) }
}

const told = () => new Promise((resolve) => setTimeout(resolve, 20))

test('permits in hand: one that came with a lease serves all its requests', async (t) => {
  const { permits, desk, asked, ended, hand } = handOn(t, 1)
  hand.put(desk.take(2 ** 32))
  const store = limited(new MemoryStore(), hand.acquire)
  await store.put('k', Buffer.from('k'))
  await store.get('k')
  assert.equal(hand.take(), 2 ** 32)
  assert.equal(hand.take(), null)
  await told()
  assert.deepEqual([asked, ended, permits.status.open], [[], [], 1])
})

test('permits in hand: one whose request failed goes back; another is asked for', async (t) => {
  const { permits, desk, asked, ended, hand } = handOn(t, 1)
  hand.put(desk.take(2 ** 32))
  const faulty = faultyPuts(new MemoryStore(), [new Failure('unavailable', 'reset')])
  const store = limited(faulty.store, hand.acquire)
  await assert.rejects(store.put('k', Buffer.from('k')))
  assert.equal(hand.take(), null)
  await store.put('k', Buffer.from('k'))
  assert.deepEqual([asked.length, ended, permits.status.open], [1, ['lost'], 1])
  assert.equal(hand.take(), asked[0])
})

test('permits in hand: while the store fails none is kept, until it answers again', async (t) => {
  const { permits, desk, ended, hand } = handOn(t, 4)
  const fail = await hand.acquire()
  for (const lease of [1, 2]) hand.put(desk.take(2 ** 32 + lease))
  assert.equal(permits.status.open, 3)
  fail('throttled')
  hand.put(2 ** 32 + 3)
  assert.equal(hand.take(), null)
  await told()
  assert.deepEqual([ended, permits.status.open], [['throttled', 'lost', 'lost', 'lost'], 0])

  const answered = await hand.acquire()
  answered('answered')
  hand.put(desk.take(2 ** 32 + 4))
  await told()
  assert.equal(permits.status.open, 2)
})

test('permits in hand: a thread that waits out a pause leaves all permits to others', async (t) => {
  const { permits, desk, hand } = handOn(t, 4)
  const busy = new Throttled('busy', { retryAfterMs: 300_000 })
  const faulty = faultyPuts(new MemoryStore(), [busy])
  const clock = new SimulatedClock()
  const retries = { attempts: 2, clock, random: () => 0 }
  const store = retrying(limited(faulty.store, hand.acquire), retries)
  const other = new PermitDesk(permits, 'uploader/1')
  for (const lease of [1, 2, 3]) hand.put(desk.take(2 ** 32 + lease))
  const done = store.put('k', Buffer.from('k'))
  await told()
  hand.put(desk.take(2 ** 32 + 4))
  await told()
  const taken = [5, 6, 7].map((lease) => other.take(2 ** 32 + lease))
  assert.ok(!taken.includes(null))
  for (const ticket of [5, 6, 7]) other.release({ ticket: 2 ** 32 + ticket, outcome: 'answered' })
  clock.advance(300_000)
  await done
})

test('permits in hand: a second end of a request frees no other that has its permit', async (t) => {
  const { permits, ended, hand } = handOn(t, 1)
  const first = await hand.acquire()
  first('answered')
  const second = await hand.acquire()
  first('answered')
  first('lost')
  assert.equal(hand.take(), null)
  await told()
  assert.deepEqual([ended, permits.status.open], [[], 1])
  second('answered')
  assert.notEqual(hand.take(), null)
  assert.equal(hand.take(), null)
})
