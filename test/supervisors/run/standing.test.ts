import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CheckpointerStatus } from '../../../protocol/checkpointer.ts'
import { deferred } from '../../../protocol/deferred.ts'
import type { LedgerStatus } from '../../../protocol/ledger.ts'
import type { TrainerStatus } from '../../../protocol/trainer.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Standing } from '../../../supervisors/run/standing.ts'
import { ledgerPeer, readerPeer, trainingPeers } from '../../support/peers.ts'
import { ledgerStatus, loaderStatus, readerStatus, trainingStatus } from '../../support/statuses.ts'

const { trainer, checkpoints } = trainingStatus()

const amount = (samples: number) => ({ samples, bytes: 10 * samples, tokens: 2 * samples })

test('standing: what both told last, counted over a ledger that began anew', async (t) => {
  const told = [7, 2].map((samples) => ledgerStatus({ spooled: amount(samples) }))
  const ledger = ledgerPeer(t, { status: () => told.shift() ?? ledgerStatus() })
  const source = readerPeer(t, { status: () => readerStatus() })
  const standing = new Standing()
  assert.deepEqual([standing.source, standing.ledger], [null, null])
  assert.deepEqual(await standing.ask({ ledger, source, training: null }), [{ type: 'replayed' }])
  await standing.ask({ ledger, source, training: null })
  assert.deepEqual(standing.ledger?.spooled, amount(9))
  assert.deepEqual(standing.source, readerStatus())
})

test('standing: nobody is asked twice at once, and who is away says nothing', async (t) => {
  const { promise, resolve } = deferred<LedgerStatus>()
  const ledger = ledgerPeer(t, { status: () => promise })
  const source = readerPeer(t, { status: () => readerStatus() })
  const standing = new Standing()
  const first = standing.ask({ ledger, source, training: null })
  assert.deepEqual(await standing.ask({ ledger, source, training: null }), [])
  resolve(ledgerStatus())
  assert.deepEqual(await first, [{ type: 'replayed' }])
  source.close()
  assert.deepEqual(await standing.ask({ ledger, source, training: null }), [])
})

test('standing: one that asks anew hears what came after the question under way', async (t) => {
  const before = deferred<LedgerStatus>()
  const told = [before.promise, Promise.resolve(ledgerStatus({ stored: amount(9) }))]
  const ledger = ledgerPeer(t, { status: () => told.shift() ?? ledgerStatus() })
  const source = readerPeer(t, { status: () => readerStatus() })
  const standing = new Standing()
  const first = standing.ask({ ledger, source, training: null })
  const anew = standing.askAnew({ ledger, source, training: null })
  before.resolve(ledgerStatus({ stored: amount(7) }))
  await Promise.all([first, anew])
  assert.deepEqual(standing.ledger?.stored, amount(9))
  // Nobody is being asked any more.
  assert.deepEqual(await standing.ask({ ledger, source, training: null }), [{ type: 'replayed' }])
})

test('standing: one that asks anew hears of the training after it asked', async (t) => {
  const before = deferred<CheckpointerStatus>()
  const told = [before.promise, Promise.resolve({ ...checkpoints, lastError: 'anew' })]
  const training = trainingPeers(t, {
    loader: { status: () => loaderStatus },
    trainer: { status: () => trainer },
    checkpointer: { status: () => told.shift() ?? checkpoints },
  })
  const standing = new Standing(new SimulatedClock())
  const asked = { ledger: ledgerPeer(t, { status: () => ledgerStatus() }), source: null, training }
  const first = standing.ask(asked)
  const anew = standing.askAnew(asked)
  before.resolve(checkpoints)
  await Promise.all([first, anew])
  assert.equal(standing.training?.checkpoints.lastError, 'anew')
})

test('standing: one that answers late is asked once, and holds up nobody', async (t) => {
  const steps = [deferred<TrainerStatus>(), deferred<TrainerStatus>()]
  let asked = 0
  const training = trainingPeers(t, {
    loader: { status: () => loaderStatus },
    trainer: { pause: () => undefined, status: () => steps[asked++]?.promise ?? trainer },
    checkpointer: { status: () => checkpoints },
  })
  const clock = new SimulatedClock()
  const ledger = ledgerPeer(t, { status: () => ledgerStatus() })
  const standing = new Standing(clock)
  for (let look = 0; look < 3; look++) {
    const looking = standing.ask({ ledger, source: null, training })
    clock.advance(1000)
    await looking
    assert.deepEqual([standing.ledger, standing.training], [ledgerStatus(), null])
  }
  assert.equal(asked, 1)
  steps[0]?.resolve(trainer)
  await training.trainer.ask.pause(true)
  assert.deepEqual(standing.training?.trainer, trainer)
  const looking = standing.ask({ ledger, source: null, training })
  clock.advance(1000)
  await looking
  assert.equal(asked, 2)
})

test('standing: a trainer that is gone keeps nobody from hearing of the ledger', async (t) => {
  const training = trainingPeers(t, {
    loader: { status: () => loaderStatus },
    trainer: { status: () => trainer },
    checkpointer: { status: () => checkpoints },
  })
  training.trainer.close()
  const ledger = ledgerPeer(t, { status: () => ledgerStatus() })
  const standing = new Standing()
  await standing.ask({ ledger, source: null, training })
  assert.deepEqual(standing.ledger, ledgerStatus())
})
