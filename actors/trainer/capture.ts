import { transfer } from '../../protocol/channel.ts'
import type { Capture, StateAsk } from '../../protocol/trainer.ts'
import { buffersOf } from '../../src/checkpoint/tensors.ts'
import type { Learner } from '../../src/training/learner.ts'
import type { TrainingData } from './data.ts'
import type { TrainerInput } from './index.ts'
import { copyOf, mapsOf } from './state.ts'
import type { Steps } from './steps.ts'

export interface Captured {
  readonly input: TrainerInput
  readonly learner: Learner
  readonly data: TrainingData
  readonly steps: Steps
}

/**
 * A copy of what is trained by the end of the last whole step: parameters and moments change at a
 * step's end alone, and in one go.
 */
export async function captureOf({ saved }: StateAsk, of: Captured): Promise<Capture> {
  const { data, input, learner, steps } = of
  const { progress } = steps
  const { training } = input
  if (progress.steps === null) return { kind: 'none' }
  const isSaved = saved?.training === training && saved.step === progress.step
  if (isSaved && !progress.hasNews) return { kind: 'saved' }
  // It only grows: asked before the copy, it covers all that was learnt from by then.
  const order = await data.record()
  // From here to the copy no step can end: both are of the same one.
  await learner.read()
  progress.hasNews = false
  const state = {
    progress: progress.toSave({ updates: learner.updates, order }),
    tensors: copyOf(learner, input.drafter),
    ...mapsOf(input),
  }
  return transfer({ kind: 'state', state }, buffersOf(state.tensors))
}
