import type { Drill } from './drill.ts'
import type { Rig } from './rig/rig.ts'
import { readTrained, stepsIn } from './rig/trained.ts'
import { endedWithin } from './signals.ts'
import { oneAfterTheOther, trainedAsIfUndisturbed, trainingJob } from './training.ts'

/** SIGTERM in mid-training, and so long until whoever sent it pulls the plug. */

/** Saved where it is told to end alone; or all the time, so that there is one to go on from. */
const saves = { slow: { checkpointMinutes: 30 }, hanging: oneAfterTheOther }

const terminated = (seconds: number, store: keyof typeof saves): Drill => ({
  name: `sigterm-in-training-${seconds}s`,
  breaks: `SIGTERM in a training, a ${store} store; ${seconds} s later SIGKILL to what is left.`,
  matters: 'What was learnt since the last checkpoint must be saved while there is time for it.',
  seconds: 30,
  needs: ['embedded', 'demo'],
  job: { ...trainingJob, freely: { train: saves[store] } },
  async run(rig) {
    const running = rig.start({ slow: { at: 'trainer.stepped', ms: 300 } })
    await running.until('its sixth step', async () => (stepsIn(rig.job) >= 6 ? true : undefined))
    const ms = store === 'slow' ? 1000 : 600_000
    const match = { operation: 'PutObject', key: 'checkpoints/' }
    await rig.s3.setFaults([{ kind: 'delay', ms, times: 1e6, match }])
    running.signal('SIGTERM')
    const { code, signal } = await endedWithin(rig, running, seconds)
    await rig.s3.setFaults([])
    if (store === 'slow') {
      rig.check('it ended by itself in time, with exit code 143', code === 143, `${code ?? signal}`)
      await lastStepIsSaved(rig)
    }
    rig.blow('process', ['trainer.stepped'])
    await rig.exits(rig.start(), 0)
    await trainedAsIfUndisturbed(rig)
  },
})

async function lastStepIsSaved(rig: Rig): Promise<void> {
  const [taken, { step }] = [stepsIn(rig.job), await readTrained(rig.job)]
  rig.check('the last step that was taken is saved', step === taken, `${step} of ${taken} steps`)
}

export const trainingsTerminated: readonly Drill[] = [
  terminated(120, 'slow'),
  terminated(30, 'slow'),
  terminated(5, 'hanging'),
]
