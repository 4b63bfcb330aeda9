/** A learner's parameters and moments, out of its memory for a checkpoint and into it. */
import { transfer } from '../../protocol/channel.ts'
import type { Capture, StateAsk } from '../../protocol/trainer.ts'
import { type TrainedTensor, tensorBuffers } from '../../src/checkpoint/tensors.ts'
import { Failure } from '../../src/failure.ts'
import { DraftVocab, type VocabMaps } from '../../src/models/draft-vocab.ts'
import type { DrafterConfig } from '../../src/models/drafter-config.ts'
import { drafterTensors } from '../../src/models/drafter-tensors.ts'
import type { Region } from '../../src/optim/flat.ts'
import type { Learner } from '../../src/training/learner.ts'
import type { TrainingData } from './data.ts'
import type { TrainerInput } from './index.ts'
import type { Progress } from './progress.ts'

export interface Captured {
  readonly input: TrainerInput
  readonly learner: Pick<Learner, 'read' | 'tensors' | 'updates'>
  readonly data: Pick<TrainingData, 'record'>
  readonly progress: Progress
  /** Whether this asker still waits: a copy for one that has asked anew, or died, is for nobody. */
  readonly isAwaited: () => boolean
}

/**
 * A copy of what is trained by the end of the last whole step: parameters and moments change at a
 * step's end alone, and in one go.
 */
export async function captureOf({ saved }: StateAsk, of: Captured): Promise<Capture> {
  const { data, input, isAwaited, learner, progress } = of
  if (progress.steps === null) return { kind: 'none' }
  if (saved && progress.isIn(saved)) return { kind: 'saved' }
  // It only grows: asked before the copy, it covers all that was learnt from by then.
  const order = await data.record()
  if (!isAwaited()) throw new Failure('unavailable', 'the state was asked for anew')
  // From here to the copy no step can end: both are of the same one.
  await learner.read()
  const state = {
    progress: progress.toSave({ updates: learner.updates, order }),
    tensors: copyOf(learner, input.drafter),
    ...mapsOf(input),
  }
  return transfer({ kind: 'state', state }, tensorBuffers(state.tensors))
}

/** Copies of what the learner has read, one buffer an array: they are given away. */
const copyOf = ({ tensors }: Pick<Learner, 'tensors'>, drafter: DrafterConfig): TrainedTensor[] =>
  drafterTensors(drafter).map(({ name, shape }) => {
    const copy = (region: Region) => new Float32Array(tensors.view(region, name))
    return {
      name,
      shape,
      value: copy('parameters'),
      m: copy('firstMoments'),
      v: copy('secondMoments'),
    }
  })

/** @param updates  how many steps the moments come from */
export function adopt(learner: Learner, saved: readonly TrainedTensor[], updates: number): void {
  const of = (part: 'value' | 'm' | 'v') =>
    new Map(saved.map((tensor) => [tensor.name, tensor[part]]))
  learner.tensors.fill('parameters', of('value'))
  learner.tensors.fill('firstMoments', of('m'))
  learner.tensors.fill('secondMoments', of('v'))
  learner.updates = updates
}

/** What goes with the parameters of a drafter that drafts from a part of the vocabulary. */
export const mapsOf = ({ draftVocab, drafter }: TrainerInput): { readonly maps?: VocabMaps } =>
  draftVocab ? { maps: new DraftVocab(draftVocab, drafter.vocabSize).maps() } : {}
