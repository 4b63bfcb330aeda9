import type { Random } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Drill } from './drill.ts'
import type { Crash } from './rig/crash.ts'

/** The whole process is killed, at moments that are named, or by chance. */

/** Together they leave work for the last of them: each lets some of the samples through. */
function deaths(random: Random): Crash[] {
  const some = (min: number, max: number) => min + Math.floor(random() * (max - min + 1))
  const moments: Crash[] = [
    { afterMs: some(50, 500) },
    { afterMs: some(500, 1200) },
    { at: 'spool.before-rename', hit: some(1, 8) },
    { at: 'uploader.put', hit: some(1, 6) },
    { at: 'manifest.before-put', hit: 1 },
    { at: 'ledger.removed', hit: some(1, 8) },
  ]
  const order = moments.map((moment) => ({ moment, at: random() }))
  return order.sort((a, b) => a.at - b.at).map(({ moment }) => ({ ...moment, end: 'all' }))
}

export const processAtRandom: Drill = {
  name: 'process-killed-at-random',
  breaks:
    'SIGKILL to the launcher and its process, six times: four at named moments, two by chance.',
  matters:
    'A machine gives no warning. What it had in hand must be found again, and nothing twice.',
  seconds: 35,
  async run(rig) {
    const crashes = deaths(rig.random)
    for (const crash of crashes) await rig.killed(rig.start(crash))
    await rig.completes()
    const { redone } = await rig.figures()
    // Each extractor has one batch in flight.
    const most = crashes.length * loadConfig(rig.job.config).config.extract.devices.length
    const found = `${redone.batches} of at most ${most} batches`
    rig.check('only batches in flight were computed again', redone.batches <= most, found)
  },
}

export const processRelaunched: Drill = {
  name: 'process-killed-and-relaunched',
  breaks: 'SIGKILL to the process, as the kernel does where memory ends; its launcher lives.',
  matters: 'Nobody is there at night to start it again.',
  seconds: 20,
  async run(rig) {
    await rig.completes(rig.start({ at: 'ledger.stored', hit: 30, end: 'process' }))
    const { processes } = (await rig.figures()).restarts
    rig.check('its launcher started it again, once', processes === 1, `${processes} times`)
  },
}
