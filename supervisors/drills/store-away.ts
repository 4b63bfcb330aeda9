import { withoutStore } from '../../src/audit/invariants.ts'
import { sleep } from '../../src/clock.ts'
import type { Drill } from './drill.ts'
import type { Running } from './rig/process.ts'
import type { Rig } from './rig/rig.ts'
import { statusWhen } from './rig/socket.ts'

const awayMs = 60_000

export const storeAway: Drill = {
  name: 'store-away-60s',
  breaks: 'For 60 s nobody listens where the store was, and every connection is cut.',
  matters: 'Ten hours of four GPUs must not end because a store restarts.',
  seconds: 80,
  needs: ['embedded'],
  async run(rig) {
    const running = rig.start({ slow: { at: 'extractor.computed', ms: 100 } })
    await statusWhen(running, rig.job, ({ ledger }) => (ledger?.committed ?? 0) >= 10)
    await rig.s3.leave()
    await sleep(awayMs)
    await hasGoneOn(rig, running)
    await rig.s3.comeBack()
    rig.blow('anyone', ['uploader.put', 'manifest.put'])
    await rig.completes(running)
    const { actors, processes } = (await rig.figures()).restarts
    rig.check('nothing was restarted for it', actors + processes === 0, `${actors + processes}`)
  },
}

/** Up to the spool's room, as if there had been a store all the time. */
async function hasGoneOn(rig: Rig, running: Running): Promise<void> {
  const { ledger } = await statusWhen(running, rig.job, () => true)
  const computed = running.moments().filter(({ name }) => name === 'extractor.computed').length
  const batches = { computed, all: rig.calm.batches }
  rig.tell(['apart'], withoutStore({ batches, waits: ledger?.spool.full ?? null }))
}
