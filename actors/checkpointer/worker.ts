import { transfer } from '../../protocol/channel.ts'
import { checkpointerContract } from '../../protocol/checkpointer.ts'
import { ledgerContract } from '../../protocol/ledger.ts'
import { actor } from '../../protocol/lifecycle.ts'
import { permitsOf } from '../../protocol/permit.ts'
import { trainerContract } from '../../protocol/trainer.ts'
import { tensorBuffers } from '../../src/checkpoint/tensors.ts'
import { systemClock as clock, wallClock } from '../../src/clock.ts'
import { patientStore } from '../../src/store/patient.ts'
import { Checkpoints } from './checkpoints.ts'
import type { CheckpointerInput } from './index.ts'
import { Saver } from './saver.ts'

const self = actor<CheckpointerInput>()
const { input, log } = self
const ledger = self.peer('ledger', ledgerContract)
const trainer = self.peer(input.trainer, trainerContract)
const store = await patientStore(input.store, {
  acquire: permitsOf(ledger, 'checkpoint'),
  attempts: input.attempts,
  log,
})
const { keep, partSizes, everyMinutes, deadlineMinutes } = input
const checkpoints = new Checkpoints({
  store,
  keep,
  clock: wallClock,
  random: Math.random,
  log,
  ...(partSizes && { partSizes }),
})
const saver = new Saver({
  checkpoints,
  capture: (saved) => trainer.again((ask) => ask.state({ saved })),
  everyMinutes,
  deadlineMinutes,
  clock,
  log,
})

self.serve(checkpointerContract, () => ({
  save: () => saver.save(),
  restore: async (ask) => {
    const restored = await checkpoints.restore(ask)
    if (!restored) return null
    saver.restored(restored.from)
    return transfer(restored, tensorBuffers(restored.state.tensors))
  },
  status: () => saver.status(),
}))

self.heeds('train.checkpointMinutes', (minutes) => saver.every(minutes))
self.live({ drain: () => saver.drain(), status: () => ({ work: saver.work }) })
