import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { clientOf, serve } from '../../../protocol/channel.ts'
import { request } from '../../../protocol/contract.ts'
import { controlContract, type Wire } from '../../../protocol/control.ts'
import { Peer } from '../../../protocol/peer.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Wiring } from '../../../supervisors/engine/wiring.ts'
import { asker, puppet } from '../../support/trees.ts'

const contract = { add: request<number, number>({ withinMs: 30_000 }) }

/** Who asks an actor, and the actor's starts, each of which adds another number. */
function wired() {
  const clock = new SimulatedClock()
  const wiring = new Wiring(clock, () => new MessageChannel())
  const peer = new Peer('puppet', contract, { clock })
  const control = (taken: (wire: Wire) => void) =>
    // What the control contract's two requests for a port are asked with.
    clientOf(controlContract, async (_, ask) => taken(ask as Wire))
  wiring.join(
    asker(),
    control(({ port, generation }) => peer.attach(port, generation)),
  )
  const starts = (adds: number) => {
    let served: Wire['port'] | undefined
    wiring.join(
      puppet(),
      control(({ port }) => {
        served = port
        serve(port, contract, { add: (to) => to + adds })
      }),
    )
    return {
      ready: () => wiring.ready('puppet'),
      ends: () => {
        served?.close()
        wiring.part('puppet')
      },
    }
  }
  return { clock, peer, starts }
}

const someTurns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await turn()
}

test('wiring: who asks an actor waits while it starts, however long that takes', async () => {
  const { clock, peer, starts } = wired()
  const first = starts(1)
  first.ready()
  assert.equal(await peer.ask.add(1), 2)
  first.ends()
  const second = starts(10)
  const sum = peer.again((ask) => ask.add(1))
  const settled: unknown[] = []
  sum.then(
    (value) => settled.push(value),
    (error: unknown) => settled.push(error),
  )
  for (let minutes = 0; minutes < 30; minutes++) {
    await someTurns()
    clock.advance(60_000)
  }
  await someTurns()
  assert.deepEqual(settled, [], 'it starts still')
  second.ready()
  assert.equal(await sum, 11)
  second.ends()
})

test('wiring: one that ended before it was ready is asked nothing', async () => {
  const { peer, starts } = wired()
  const dead = starts(1)
  dead.ends()
  dead.ready()
  const sum = peer.again((ask) => ask.add(1))
  await someTurns()
  const second = starts(10)
  second.ready()
  assert.equal(await sum, 11)
  second.ends()
})
