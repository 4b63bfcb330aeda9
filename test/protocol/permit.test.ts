import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { HeldPermits, newSharedPermits } from '../../actors/ledger/held-permits.ts'
import { PermitDesk } from '../../actors/ledger/permit-desk.ts'
import { serve } from '../../protocol/channel.ts'
import { ledgerContract } from '../../protocol/ledger.ts'
import { Peer } from '../../protocol/peer.ts'
import { permitsOf } from '../../protocol/permit.ts'
import { SimulatedClock } from '../../src/clock.ts'
import { isFailure } from '../../src/failure.ts'
import { Permits } from '../../src/store/permits.ts'
import { ledgerHandlers, ledgerPeer } from '../support/peers.ts'

/** Looks again until it is so: messages cross a port meanwhile. */
async function until(is: () => boolean): Promise<void> {
  for (let turn = 0; !is(); turn++) {
    if (turn > 10_000) assert.fail('it never came')
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

test('permit: one is asked for until it is granted, and given back with its outcome', async (t) => {
  const permits = new Permits(1)
  const desk = new PermitDesk(permits, 'uploader/0')
  const answers = [false, false]
  const ledger = ledgerPeer(t, {
    permit: async (ask) => answers.shift() ?? (await desk.ask(ask)),
    release: (end) => desk.release(end),
  })
  const release = await permitsOf(ledger, 'sample')()
  assert.deepEqual(answers, [])
  assert.equal(permits.status.open, 1)
  release('answered')
  await until(() => permits.status.open === 0)
})

test('permit: one that the ledger grants too late to be heard is not lost', async (t) => {
  const clock = new SimulatedClock()
  const permits = new Permits(1)
  const desk = new PermitDesk(permits, 'uploader/0')
  let grant: () => void = () => undefined
  let asked = 0
  const busy = new Promise<void>((resolve) => {
    grant = resolve
  })
  const ledger = ledgerPeer(
    t,
    {
      // A ledger whose thread stands still: it answers, and does so after the asker's patience.
      permit: async (ask) => {
        asked += 1
        await busy
        return await desk.ask(ask)
      },
      release: async (end) => {
        await busy
        desk.release(end)
      },
    },
    { clock },
  )
  const question = permitsOf(ledger, 'sample')()
  const refused = assert.rejects(question, (error) => isFailure(error, 'unavailable'))
  await until(() => asked === 1)
  clock.advance(30_000)
  await refused
  grant()
  await until(() => permits.status.peak === 1 && permits.status.open === 0)
})

test('permit: one of a ledger that died needs no return, and harms no other', async (t) => {
  const peer = new Peer('ledger', ledgerContract)
  t.after(() => peer.close())
  const lives = [new Permits(2), new Permits(2)]
  const ports = lives.map((permits, life) => {
    const { port1, port2 } = new MessageChannel()
    const desk = new PermitDesk(permits, 'uploader/0')
    const handlers = ledgerHandlers({
      permit: (ask) => desk.ask(ask),
      release: (end) => desk.release(end),
    })
    serve(port2, ledgerContract, handlers)
    return { port: port1, end: port2, generation: life + 1 }
  })
  peer.attach(ports[0].port, ports[0].generation)
  const acquire = permitsOf(peer, 'sample')
  const first = await acquire()
  ports[0].end.close()
  peer.attach(ports[1].port, ports[1].generation)
  const second = await acquire()
  first('answered')
  second('answered')
  await until(() => lives[1].status.open === 0)
  assert.equal(lives[1].status.peak, 1)
})

test('permit: what is out when a ledger dies counts towards the bound of the next', async () => {
  const shared = newSharedPermits(['reader', 'loader'])
  const clock = new SimulatedClock()
  /** As a start of the ledger makes them. */
  const start = () => {
    const held = new HeldPermits(shared)
    const left = held.take()
    const permits = new Permits(3, { clock, onChange: (permit, by) => held.note(permit, by) })
    for (const { asker, kind } of left) permits.inherit(asker, kind, 600_000)
    const desk = (asker: string) => new PermitDesk(permits, asker)
    return { permits, loader: desk('loader'), reader: desk('reader'), uploader: desk('uploader/0') }
  }
  const first = start()
  assert.ok(await first.loader.ask({ ticket: 1, kind: 'sample' }))
  assert.ok(await first.reader.ask({ ticket: 1, kind: 'manifest' }))
  assert.notEqual(first.uploader.take(2 ** 32), null)
  first.reader.release({ ticket: 1, outcome: 'answered' })
  assert.ok(await first.loader.ask({ ticket: 2, kind: 'manifest' }))

  const second = start()
  assert.equal(second.permits.status.open, 2, 'the uploader has ended, the loader goes on')
  assert.notEqual(second.uploader.take(2 ** 32), null)
  assert.equal(second.uploader.take(2 ** 32 + 1), null)
  const question = second.loader.ask({ ticket: 3, kind: 'sample' })
  second.loader.release({ ticket: 3, outcome: 'lost' })
  second.loader.release({ ticket: 4, outcome: 'lost' })
  assert.equal(second.permits.status.open, 3, 'it never was given those')
  second.loader.release({ ticket: 1, outcome: 'answered' })
  second.loader.release({ ticket: 1, outcome: 'answered' })
  assert.equal(await question, false)
  assert.equal(second.permits.status.open, 2, 'told twice, it comes back once')
  second.loader.release({ ticket: 2, outcome: 'answered' })
  assert.equal(second.permits.status.open, 1)

  assert.ok(await second.loader.ask({ ticket: 4, kind: 'manifest' }))
  const third = start()
  assert.equal(third.permits.status.open, 1)
  clock.advance(600_000)
  assert.equal(third.permits.status.open, 0, 'no request lasts so long: its asker is gone')
})

test('permit: what a ledger inherits leaves it one, without which it could not start', async () => {
  const permits = new Permits(2, { clock: new SimulatedClock() })
  for (const kind of ['sample', 'manifest'] as const) permits.inherit('loader', kind, 600_000)
  assert.equal(permits.status.open, 1)
  assert.notEqual(permits.take('ledger', 'manifest'), null)
  assert.equal(permits.take('ledger', 'manifest'), null)
})
