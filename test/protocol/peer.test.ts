import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { PeerEnded, serve } from '../../protocol/channel.ts'
import { request } from '../../protocol/contract.ts'
import { Peer } from '../../protocol/peer.ts'
import { SimulatedClock } from '../../src/clock.ts'
import { Failure, isFailure } from '../../src/failure.ts'

const contract = { job: request<string, string>({ withinMs: 10_000 }) }

/** A peer and the lives of the actor behind it: each life answers in its own way. */
function setUp() {
  const clock = new SimulatedClock()
  const peer = new Peer('ledger', contract, { clock })
  const live = (generation: number, answer: (ask: string) => string | Promise<string>) => {
    const { port1, port2 } = new MessageChannel()
    serve(port2, contract, { job: answer })
    peer.attach(port1, generation)
    return { end: () => port2.close() }
  }
  return { clock, peer, live }
}

const never = () => new Promise<string>(() => undefined)
const turn = () => new Promise((resolve) => setTimeout(resolve, 20))

test('peer: calls made before it is there wait, and are sent in their order', async (t) => {
  const { peer, live } = setUp()
  t.after(() => peer.close())
  const seen: string[] = []
  const early = ['1', '2', '3'].map((ask) => peer.ask.job(ask))
  live(1, (ask) => {
    seen.push(ask)
    return ask
  })
  assert.deepEqual(await Promise.all([...early, peer.ask.job('4')]), ['1', '2', '3', '4'])
  assert.deepEqual(seen, ['1', '2', '3', '4'])
})

test('peer: a call that waits in vain rejects at its own deadline, as away', async (t) => {
  const { clock, peer } = setUp()
  t.after(() => peer.close())
  const call = assert.rejects(peer.ask.job('x'), (error) => {
    assert.ok(error instanceof PeerEnded)
    assert.match(error.message, /not there. actor=ledger, request=job, waited=10000 ms/)
    return true
  })
  clock.advance(10_000)
  await call
})

test('peer: waiting and answering share one deadline', async (t) => {
  const { clock, peer, live } = setUp()
  t.after(() => peer.close())
  const call = assert.rejects(peer.ask.job('x'), /no answer in time.*waited=4000 ms/)
  clock.advance(6_000)
  live(1, never)
  clock.advance(4_000)
  await call
})

test('peer: a newer port takes over, and answers of the older one are dropped', async (t) => {
  const { peer, live } = setUp()
  t.after(() => peer.close())
  let answerLate: (answer: string) => void = () => undefined
  live(
    1,
    () =>
      new Promise((resolve) => {
        answerLate = resolve
      }),
  )
  const first = assert.rejects(peer.ask.job('x'), PeerEnded)
  await turn()
  live(2, () => 'from 2')
  await first
  answerLate('from 1, late')
  assert.equal(await peer.ask.job('x'), 'from 2')
})

test('peer: a port of an older generation never takes the place of a newer one', async (t) => {
  const { peer, live } = setUp()
  t.after(() => peer.close())
  live(2, () => 'from 2')
  live(1, () => 'from 1')
  assert.equal(await peer.ask.job('x'), 'from 2')
})

test('peer: again sends once for each life, and only once', async (t) => {
  const { peer, live } = setUp()
  t.after(() => peer.close())
  const seen: number[] = []
  const dying = (generation: number) => {
    const life = live(generation, () => {
      seen.push(generation)
      setImmediate(() => life.end())
      return never()
    })
  }
  dying(1)
  const call = peer.again((ask) => ask.job('x'))
  await turn()
  assert.deepEqual(seen, [1], 'nothing is sent while it is away')
  dying(2)
  await turn()
  live(3, (ask) => {
    seen.push(3)
    return `done: ${ask}`
  })
  assert.equal(await call, 'done: x')
  assert.deepEqual(seen, [1, 2, 3])
})

test('peer: again goes on past a call’s own deadline, up to its own', async (t) => {
  const { clock, peer, live } = setUp()
  t.after(() => peer.close())
  const call = peer.again((ask) => ask.job('x'), { withinMs: 60_000 })
  clock.advance(10_000)
  await turn()
  clock.advance(40_000)
  live(1, () => 'at last')
  assert.equal(await call, 'at last')
})

test('peer: again gives up at its deadline with the last PeerEnded', async (t) => {
  const { clock, peer } = setUp()
  t.after(() => peer.close())
  const call = assert.rejects(
    peer.again((ask) => ask.job('x'), { withinMs: 60_000 }),
    PeerEnded,
  )
  clock.advance(10_000)
  await turn()
  clock.advance(50_000)
  await call
})

test('peer: again does not repeat what failed for another reason', async (t) => {
  const { peer, live } = setUp()
  t.after(() => peer.close())
  let asked = 0
  live(1, () => {
    asked++
    throw new Failure('invalid', 'no')
  })
  await assert.rejects(
    peer.again((ask) => ask.job('x')),
    (error) => isFailure(error, 'invalid'),
  )
  assert.equal(asked, 1)
})

test('peer: once closed, all that waits rejects, and all that comes', async () => {
  const { peer } = setUp()
  const waiting = [peer.ask.job('x'), peer.again((ask) => ask.job('x'))]
  const settled = waiting.map((call) => assert.rejects(call, PeerEnded))
  peer.close()
  await Promise.all(settled)
  await assert.rejects(
    peer.again((ask) => ask.job('x')),
    PeerEnded,
  )
})
