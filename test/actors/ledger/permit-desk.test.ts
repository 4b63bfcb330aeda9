import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PermitDesk } from '../../../actors/ledger/permit-desk.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Permits } from '../../../src/store/permits.ts'

/** Two askers of one ledger's permits. */
function desks(max: number) {
  const clock = new SimulatedClock()
  const permits = new Permits(max, { clock })
  const [first, second] = ['uploader/0', 'uploader/1'].map((id) => new PermitDesk(permits, id))
  return { clock, permits, first, second }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const sample = (ticket: number) => ({ ticket, kind: 'sample' }) as const
const answered = (ticket: number) => ({ ticket, outcome: 'answered' }) as const

test('permit desk: one number of two askers is two permits', async () => {
  const { permits, first, second } = desks(10)
  assert.equal(await first.ask(sample(1)), true)
  assert.equal(await second.ask(sample(1)), true)
  assert.equal(permits.status.open, 2)
  first.release(answered(1))
  first.release(answered(1))
  assert.equal(permits.status.open, 1)
  second.release(answered(2))
  assert.equal(permits.status.open, 1, 'a number that was never given out')
})

test('permit desk: one granted after its asker gave up waiting comes back at once', async () => {
  const { permits, first, second } = desks(1)
  assert.equal(await first.ask(sample(1)), true)
  const late = second.ask(sample(1))
  // The ledger was busy for so long that the asker stopped waiting, and said so.
  second.release({ ticket: 1, outcome: 'lost' })
  first.release(answered(1))
  assert.equal(await late, false)
  assert.equal(permits.status.open, 0)
  assert.equal(await second.ask(sample(2)), true)
})

test('permit desk: a question that found none is answered, and may be put again', async () => {
  const { permits, clock, first, second } = desks(1)
  await first.ask(sample(1))
  const question = second.ask(sample(7))
  await settled()
  clock.advance(10_000)
  assert.equal(await question, false)
  const again = second.ask(sample(7))
  first.release(answered(1))
  assert.equal(await again, true)
  second.release(answered(7))
  assert.equal(permits.status.open, 0)
})

test('permit desk: how a request ended reaches the cap', async () => {
  const { permits, first } = desks(100)
  await first.ask(sample(1))
  first.release({ ticket: 1, outcome: 'throttled' })
  assert.equal(permits.status.inForce, 50)
})
