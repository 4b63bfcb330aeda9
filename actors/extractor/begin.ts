import { join } from 'node:path'
import { createActor, fromPromise, waitFor } from 'xstate'
import { ledgerContract } from '../../protocol/ledger.ts'
import type { Actor } from '../../protocol/lifecycle.ts'
import { readerContract } from '../../protocol/reader.ts'
import { openClaims } from '../../src/spool/claims.ts'
import { freeBytes, openSpool } from '../../src/spool/spool.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import { loadMs } from './deadline.ts'
import type { ExtractorInput } from './index.ts'
import { extractorMachine } from './machine.ts'
import type { loadModel } from './model.ts'
import { stepsOf } from './steps.ts'

export interface ExtractorSurroundings extends Surroundings {
  readonly loadModel: typeof loadModel
}

export async function begin(
  self: Actor<ExtractorInput>,
  around: ExtractorSurroundings,
): Promise<void> {
  const { gate, input, log, pulse } = self
  const { clock, disk, monotonic } = around
  const reader = self.peer('reader', readerContract)
  const ledger = self.peer('ledger', ledgerContract)

  pulse.busy('loading the target', loadMs)
  const model = await around.loadModel(input, { gate, log })
  pulse.idle()

  const spool = await openSpool(join(input.work, 'spool'), around)
  const claims = openClaims(input.work, around)
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
    clock,
    monotonic,
    free: () => freeBytes(spool.dir, disk),
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
    { clock },
  )
  // An observer of errors: without one they would be thrown where no host hears of them.
  life.subscribe({ error: self.die })
  life.start()

  self.heeds('spool.keepFree', steps.keepFree)
  self.live({
    drain: async () => {
      life.send({ type: 'drain' })
      draining.abort()
      await waitFor(life, (state) => state.matches({ work: 'drained' }))
      await model.release()
    },
    status: () => ({ work: steps.work(life.getSnapshot().value.work) }),
  })
}
