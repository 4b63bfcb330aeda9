import type { Fault } from '../../src/dev-s3/faults.ts'
import type { Drill } from './drill.ts'
import type { Running } from './rig/process.ts'
import type { Rig } from './rig/rig.ts'
import { statusWhen } from './rig/socket.ts'
import { endsTelling } from './rig/told.ts'

/** The store does what stores do on a bad day, and the run must end as if it had not. */

/** Every order comes in mid-run. */
const slow = { slow: { at: 'extractor.computed', ms: 100 } }
const samplePuts = { operation: 'PutObject', key: 'hidden-states/' }

/** From the first samples on; once all of it is used up the store is as before. */
const troubled = (drill: Omit<Drill, 'run' | 'needs'>, faults: readonly Fault[]): Drill => ({
  ...drill,
  needs: ['embedded'],
  async run(rig) {
    const running = await inMidRun(rig)
    await rig.s3.setFaults(faults)
    rig.blow('anyone', ['uploader.put'])
    await rig.completes(running)
    const left = await rig.s3.faultsLeft()
    const used = faults.reduce((sum, { times }) => sum + times, 0) - sumOf(left)
    rig.check('the store did go wrong', used > 0, 'no request met it')
    const { actors, processes } = (await rig.figures()).restarts
    rig.check('nothing was restarted for it', actors + processes === 0, `${actors + processes}`)
  },
})

async function inMidRun(rig: Rig): Promise<Running> {
  const running = rig.start(slow)
  await statusWhen(running, rig.job, ({ ledger }) => (ledger?.stored.samples ?? 0) >= 5)
  return running
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

const waste = 'What cannot be stored now must wait, neither lost nor computed again.'

export const storeTroubles: readonly Drill[] = [
  troubled(
    {
      name: 'store-slow',
      breaks: 'Eight uploads crawl at 5 KB/s.',
      matters:
        'A line that is nearly dead must not be taken for one that is, nor for ever waited on.',
      seconds: 35,
    },
    [{ kind: 'crawl', bytesPerSecond: 5000, times: 8, match: samplePuts }],
  ),
  troubled(
    {
      name: 'store-resets',
      breaks: 'Twenty uploads are reset with half of the body sent, and ten answers cut.',
      matters: 'Whether a put took effect is not known after it: both must come out right.',
      seconds: 25,
    },
    [
      { kind: 'reset', times: 20, match: samplePuts },
      { kind: 'drop-answer', times: 10, match: samplePuts },
    ],
  ),
  troubled(
    {
      name: 'store-slow-down',
      breaks: 'The store says 503 SlowDown to all but one request in 100 ms, 150 times.',
      matters: 'Who goes on at full speed then is locked out; who stops for good loses the night.',
      seconds: 30,
    },
    [{ kind: 'throttle', everyMs: 100, times: 150 }],
  ),
  troubled(
    {
      name: 'store-answers-late',
      breaks: 'Four puts take effect, and are answered after the client has given them up.',
      matters: 'The second try finds the object there. That is a success, and no second object.',
      seconds: 30,
    },
    [{ kind: 'delay', ms: 40_000, times: 4, match: samplePuts }],
  ),
  troubled(
    {
      name: 'store-answers-garbage',
      breaks: 'Instead of S3 a web page answers puts and the listing of the manifest, status 200.',
      matters: 'A proxy that wants a login says 200 to everything, and has stored nothing.',
      seconds: 20,
    },
    [
      { kind: 'portal', times: 6, match: samplePuts },
      { kind: 'garbage', times: 4, match: { operation: 'PutObject', key: 'manifest/segments/' } },
      { kind: 'error-in-200', times: 4, match: samplePuts },
    ],
  ),
  troubled(
    {
      name: 'store-truncates',
      breaks: 'The store keeps half of six bodies and says that all is well.',
      matters: `Only its checksum shows it. ${waste}`,
      seconds: 20,
    },
    [{ kind: 'truncate', times: 6, match: samplePuts }],
  ),
]

const denied = { kind: 'error', status: 403, code: 'AccessDenied', times: 1e6 } as const

export const storeDenies: Drill = {
  name: 'store-denies',
  breaks: 'In mid-run the store answers 403 to every put, until someone gives the right back.',
  matters: `Trying for ever helps nobody: a run must say so, and end resumable. ${waste}`,
  seconds: 20,
  needs: ['embedded'],
  async run(rig) {
    const running = await inMidRun(rig)
    await rig.s3.setFaults([{ ...denied, match: { operation: 'PutObject' } }])
    await endsTelling(rig, running, { code: 4 })
    await rig.look()
    await rig.s3.setFaults([])
    rig.blow('process')
    await rig.completes()
  },
}
