import { join } from 'node:path'
import { createActor, fromPromise, waitFor } from 'xstate'
import { ledgerContract } from '../../protocol/ledger.ts'
import { actor } from '../../protocol/lifecycle.ts'
import { readerContract } from '../../protocol/reader.ts'
import { openClaims } from '../../src/spool/claims.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { loadMs } from './deadline.ts'
import type { ExtractorInput } from './index.ts'
import { extractorMachine } from './machine.ts'
import { loadModel } from './model.ts'
import { stepsOf } from './steps.ts'

const self = actor<ExtractorInput>()
const { gate, input, log, pulse } = self
const reader = self.peer('reader', readerContract)
const ledger = self.peer('ledger', ledgerContract)

pulse.busy('loading the target', loadMs)
const model = await loadModel(input, { gate, log })
pulse.idle()

const spool = await openSpool(join(input.work, 'spool'))
const claims = openClaims(input.work)
/** Told to drain, it does not wait for room on the disk: the next run computes what is left. */
const draining = new AbortController()
const steps = stepsOf({
  id: self.id,
  dtype: input.dtype,
  model,
  spool,
  keepFree: input.keepFree,
  signal: draining.signal,
  claims,
  reader,
  ledger,
  pulse,
  log,
})
const life = createActor(
  extractorMachine.provide({
    actors: {
      ask: fromPromise(steps.ask),
      room: fromPromise(({ input: batch }) => steps.room(batch)),
      compute: fromPromise(({ input: batch }) => steps.compute(batch)),
      tell: fromPromise(({ input: extracted }) => steps.tell(extracted)),
    },
  }),
).start()

self.live({
  drain: async () => {
    life.send({ type: 'drain' })
    draining.abort()
    await waitFor(life, (state) => state.matches({ work: 'drained' }))
    await model.release()
  },
  status: () => ({ work: steps.work(life.getSnapshot().value.work) }),
})
