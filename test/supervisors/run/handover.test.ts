import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CheckpointRef } from '../../../protocol/checkpointer.ts'
import { deferred } from '../../../protocol/deferred.ts'
import { Peer } from '../../../protocol/peer.ts'
import { readerContract } from '../../../protocol/reader.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import { Handover } from '../../../supervisors/run/handover.ts'
import { ledgerPeer, readerPeer, trainingPeers } from '../../support/peers.ts'
import { readerStatus, trainingStatus } from '../../support/statuses.ts'

interface Options {
  readonly waits?: boolean
  readonly save?: () => Promise<CheckpointRef | null>
}

function handover(t: TestContext, { waits = false, save = async () => null }: Options = {}) {
  const told: string[] = []
  const training = trainingPeers(t, {
    loader: { extractionEnded: () => void told.push('no more comes') },
    trainer: { pause: (paused) => void told.push(paused ? 'pause' : 'continue') },
    checkpointer: {
      save: () => {
        told.push('save')
        return save()
      },
    },
  })
  const asked = {
    ledger: ledgerPeer(t, {}),
    source: readerPeer(t, {}),
    training,
  }
  return { told, handover: new Handover(asked, { waits }), trainer: training.trainer }
}

const ended = readerStatus({ outcome: { committed: 7, quarantined: 0, failed: 0 } })

test('handover: at the end of extraction loader and waiting trainer hear', async (t) => {
  const { told, handover: over } = handover(t, { waits: true })
  await over.started('trainer/0')
  await over.heard({ source: readerStatus(), training: null })
  assert.deepEqual(told, ['pause'])
  await over.heard({ source: ended, training: null })
  await over.heard({ source: ended, training: null })
  assert.deepEqual(told.slice(1).sort(), ['continue', 'no more comes'])
  // A loader and a trainer that start anew know nothing of it.
  await over.started('loader')
  await over.started('trainer/0')
  assert.deepEqual(told.slice(3), ['no more comes', 'continue'])
})

test('handover: the last checkpoint is asked for once at a time, until it is there', async (t) => {
  const saves = [deferred<CheckpointRef | null>(), deferred<CheckpointRef | null>()]
  const left = [...saves]
  const save = () => left.shift()?.promise ?? Promise.resolve(null)
  const { told, handover: over, trainer } = handover(t, { save })
  const done = trainingStatus({ trainer: { step: 200, outcome: { steps: 200 } } })
  const heard = (training = done) => over.heard({ source: null, training })
  const asked = async (times: number) => {
    const count = () => told.filter((word) => word === 'save').length
    for (let turn = 0; count() < times; turn++) {
      assert.ok(turn < 1000, `it was asked ${count()} times`)
      await heard()
      await trainer.ask.pause(false)
    }
    for (let turn = 0; turn < 5; turn++) await trainer.ask.pause(false)
    assert.equal(count(), times)
  }
  await heard(trainingStatus())
  await asked(0)
  await heard()
  await heard()
  await asked(1)
  // A checkpointer that could not save it, or has started anew since, is asked again.
  saves[0]?.resolve(null)
  await asked(2)
  const last = {
    ...{ name: 'n', training: 'training-1', step: 200 },
    ...{ heldOutLoss: null, bytes: 1, savedAt: 1 },
  }
  saves[1]?.resolve(last)
  await heard(trainingStatus({ trainer: done.trainer, checkpoints: { last } }))
  await asked(2)
})

test('handover: a pause waits ten minutes at most for one that is away', async (t) => {
  const clock = new SimulatedClock()
  const source = new Peer('reader', readerContract, { clock })
  t.after(() => source.close())
  const asked = { ledger: ledgerPeer(t, {}), source, training: null }
  let isOver = false
  const paused = new Handover(asked, { waits: false }).pause(true).then(() => {
    isOver = true
  })
  for (let minutes = 0; minutes < 9; minutes++) {
    clock.advance(60_000)
    await new Promise(setImmediate)
  }
  assert.equal(isOver, false)
  clock.advance(60_000)
  await paused
})
