import type { Drill } from './drill.ts'
import type { Crash } from './rig/crash.ts'
import type { JobOptions } from './rig/materials.ts'
import type { Rig } from './rig/rig.ts'
import { readTrained, type Trained } from './rig/trained.ts'

/** A training that dies goes on from its newest whole checkpoint, to the same bits. */

const trainingMatters =
  'Days of training: what comes of it must be what would have come of it undisturbed.'

export const oneAfterTheOther = { checkpointMinutes: 0.001, keep: { last: 2 } }

export const trainingJob: JobOptions = {
  rows: 32,
  sections: {
    train: {
      ...{ epochs: 2, layers: 1, blockSize: 4, anchors: 8, lr: 2e-3 },
      ...{ tokensPerStep: 512, tokensPerBatch: 512, heldOut: 0.1, heldOutEvery: 10 },
    },
  },
  freely: { train: oneAfterTheOther },
}

const trainingDies = (
  drill: Pick<Drill, 'name' | 'breaks'> & Pick<JobOptions, 'freely'>,
  crash: Crash,
): Drill => ({
  ...{ name: drill.name, breaks: drill.breaks, matters: trainingMatters },
  seconds: 25,
  needs: ['demo'],
  job: { ...trainingJob, ...(drill.freely && { freely: drill.freely }) },
  async run(rig) {
    const running = rig.start(crash)
    if (crash.end === 'all') await rig.killed(running)
    else await rig.exits(running, 0)
    if (crash.end === 'all') await rig.exits(rig.start(), 0)
    const { processes } = (await rig.figures()).restarts
    rig.check('no process but its own ended', processes === 0, `${processes} restarts`)
    rig.check('it died where it should', rig.deaths === 1, `${rig.deaths} deaths`)
    await trainedAsIfUndisturbed(rig)
  },
})

export async function trainedAsIfUndisturbed(rig: Rig): Promise<void> {
  await rig.endsAsIfUndisturbed()
  const found = await readTrained(rig.job)
  const wanted = rig.calm.trained
  const same = (what: string, of: (trained: Trained) => unknown) => {
    const isSame = wanted !== null && JSON.stringify(of(wanted)) === JSON.stringify(of(found))
    rig.check(`${what} are those of an undisturbed training, bit for bit`, isSame)
  }
  same('the weights', ({ step, model }) => [step, model])
  same("the optimizer's moments", ({ optimizer }) => optimizer)
  same('loss and rate of every step', ({ lines }) => [...lines])
}

export const trainings: readonly Drill[] = [
  trainingDies(
    { name: 'loader-killed', breaks: 'The loader ends as it lends a batch to the trainer.' },
    { at: 'loader.lent', hit: 6, end: 'exit' },
  ),
  trainingDies(
    {
      name: 'trainer-process-aborts',
      breaks: "The drafter's device takes its driver along: an abort in the trainer's own process.",
      freely: { train: { ...oneAfterTheOther, isolation: 'process' } },
    },
    { at: 'trainer.stepped', hit: 7, end: 'abort' },
  ),
  trainingDies(
    { name: 'trainer-killed-in-mid-step', breaks: 'The trainer ends with a step taken.' },
    { at: 'trainer.stepped', hit: 5, end: 'exit' },
  ),
  trainingDies(
    { name: 'training-killed', breaks: 'SIGKILL to everything with a step taken.' },
    { at: 'trainer.stepped', hit: 7, end: 'all' },
  ),
  trainingDies(
    {
      name: 'checkpoint-cut-short',
      breaks: "SIGKILL to everything in a checkpoint's save, half of its files sent.",
    },
    { at: 'checkpoint.optimizer-put', hit: 2, end: 'all' },
  ),
  trainingDies(
    {
      name: 'checkpointer-killed-in-save',
      breaks: "The checkpointer ends in a save, with the model's file sent and no other.",
    },
    { at: 'checkpoint.model-put', hit: 2, end: 'exit' },
  ),
  trainingDies(
    {
      name: 'checkpointer-killed',
      breaks: 'The checkpointer ends with a checkpoint complete, and nobody told.',
    },
    { at: 'checkpoint.state-put', hit: 2, end: 'exit' },
  ),
]
