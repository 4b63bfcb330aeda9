import { sleep } from '../../src/clock.ts'
import type { Drill } from './drill.ts'
import type { Ended, Running } from './rig/process.ts'
import type { Rig } from './rig/rig.ts'
import { statusWhen } from './rig/socket.ts'

/** SIGTERM, and so long until whoever sent it pulls the plug. */

const slow = { slow: { at: 'extractor.computed', ms: 150 } }

const terminated = (seconds: number, store: 'slow' | 'hanging'): Drill => ({
  name: `sigterm-${seconds}s`,
  breaks: `SIGTERM with a ${store} store; after ${seconds} s, SIGKILL to all that is left.`,
  matters: 'A spot node, a container, a scheduler: each gives so long, and no longer.',
  seconds: 20,
  needs: ['embedded'],
  async run(rig) {
    const running = rig.start(slow)
    await statusWhen(running, rig.job, ({ ledger }) => (ledger?.spooled.samples ?? 0) >= 20)
    const match = { operation: 'PutObject', key: 'hidden-states/' }
    const ms = store === 'slow' ? 400 : 600_000
    await rig.s3.setFaults([{ kind: 'delay', ms, times: 1e6, match }])
    running.signal('SIGTERM')
    const { code, signal } = await endedWithin(rig, running, seconds)
    await rig.s3.setFaults([])
    const seen = await rig.look()
    if (store === 'slow') {
      rig.check('it ended by itself in time, with exit code 143', code === 143, `${code ?? signal}`)
      const waiting = seen.spooled.map(({ hash }) => hash)
      rig.check('all that was spooled is committed', waiting.length === 0, ...waiting)
    }
    rig.blow('process')
    await rig.completes()
  },
})

/** Kills what has not ended by then. */
export async function endedWithin(rig: Rig, running: Running, seconds: number): Promise<Ended> {
  const end = rig.ended(running)
  const late = await Promise.race([end.then(() => false), sleep(seconds * 1000).then(() => true)])
  if (late) running.kill()
  return await end
}

export const sigterms: readonly Drill[] = [
  terminated(120, 'slow'),
  terminated(30, 'slow'),
  terminated(5, 'hanging'),
]
