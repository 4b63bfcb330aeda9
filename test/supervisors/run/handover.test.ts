import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type CheckpointRef, checkpointerContract } from '../../../protocol/checkpointer.ts'
import { deferred } from '../../../protocol/deferred.ts'
import { loaderContract } from '../../../protocol/loader.ts'
import { Peer } from '../../../protocol/peer.ts'
import { trainerContract } from '../../../protocol/trainer.ts'
import { Handover } from '../../../supervisors/run/handover.ts'
import { ledgerPeer, peerTo, readerPeer, unasked } from '../../support/peers.ts'
import { readerStatus, trainingStatus } from '../../support/statuses.ts'

interface Options {
  readonly waits?: boolean
  readonly save?: () => Promise<CheckpointRef | null>
}

function handover(t: TestContext, { waits = false, save = async () => null }: Options = {}) {
  const told: string[] = []
  const loader = peerTo(t, new Peer('loader', loaderContract), {
    contract: loaderContract,
    handlers: {
      begin: unasked('begin'),
      next: unasked('next'),
      heldOut: unasked('heldOut'),
      record: unasked('record'),
      extractionEnded: () => void told.push('no more comes'),
      status: unasked('status'),
    },
  })
  const trainer = peerTo(t, new Peer('trainer/0', trainerContract), {
    contract: trainerContract,
    handlers: {
      state: unasked('state'),
      pause: (paused) => void told.push(paused ? 'pause' : 'continue'),
      status: unasked('status'),
    },
  })
  const checkpointer = peerTo(t, new Peer('checkpointer', checkpointerContract), {
    contract: checkpointerContract,
    handlers: {
      save: () => {
        told.push('save')
        return save()
      },
      restore: unasked('restore'),
      status: unasked('status'),
    },
  })
  const asked = {
    ledger: ledgerPeer(t, {}),
    source: readerPeer(t, {}),
    training: { loader, trainer, checkpointer },
  }
  return { told, handover: new Handover(asked, { waits }), trainer }
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
