import type { TrainedTensor } from '../../src/checkpoint/tensors.ts'
import { DraftVocab, type VocabMaps } from '../../src/models/draft-vocab.ts'
import type { DrafterConfig } from '../../src/models/drafter-config.ts'
import { drafterTensors } from '../../src/models/drafter-tensors.ts'
import type { Region } from '../../src/optim/flat.ts'
import type { Learner } from '../../src/training/learner.ts'
import type { TrainerInput } from './index.ts'

/** A learner's parameters and moments, out of its memory and into it. */

/** Copies of what the learner has read, one buffer an array: they are given away. */
export const copyOf = ({ tensors }: Learner, drafter: DrafterConfig): TrainedTensor[] =>
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
