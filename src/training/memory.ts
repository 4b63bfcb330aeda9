/** What a training's memory is known to hold, before anything is computed. */
import type { TrainConfig } from '../config/train-schema.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { drafterTensors } from '../models/drafter-tensors.ts'
import type { StoredDType } from '../models/hidden-states.ts'

const floatBytes = 4

/** Copies of all parameters that are held at once, beside the process's own and the device's. */
const copies = {
  // Values, two moments, gradients, and those of one more batch of the step.
  cpu: { host: 5, device: 0 },
  // The process keeps what was read back; the device the old state, the new one, and gradients.
  webgpu: { host: 3, device: 7 },
  // Steps of several shapes are summed by the processor; the others are written aside.
  cuda: { host: 8, device: 7 },
}
/** Values and moments, on their way to the store. */
const savedCopies = 3

/** In bytes, but for `parameters`, which are counted. */
export interface TrainingMemory {
  readonly parameters: number
  /** Of the process: parameters, and all that belongs to each. */
  readonly trained: number
  /** The target's embedding, its head, and of a draft vocabulary its rows of that. */
  readonly frozen: number
  /** A copy, while a checkpoint is saved. */
  readonly saving: number
  /** Hidden states of a step's batches, as they are stored. */
  readonly states: number
  /** On a device of its own, at least; 0 on cpu. */
  readonly onDevice: number
}

/** What a forward and backward pass computes in, and what is read ahead, come on top. */
export function trainingMemory(of: {
  readonly drafter: DrafterConfig
  readonly train: TrainConfig
  readonly device: string
  readonly tiedEmbeddings: boolean
  readonly dtype: StoredDType
}): TrainingMemory {
  const { drafter, train, device, tiedEmbeddings, dtype } = of
  const { draftVocabSize, hiddenSize, targetLayerIds, vocabSize } = drafter
  const parameters = drafterTensors(drafter)
    .map(({ shape }) => shape.reduce((product, length) => product * length, 1))
    .reduce((sum, count) => sum + count, 0)
  const bytes = parameters * floatBytes
  const rows = vocabSize * (tiedEmbeddings ? 1 : 2) + (draftVocabSize ?? 0)
  const frozen = rows * hiddenSize * floatBytes
  const kept = targetLayerIds.length + (train.distill.weight > 0 ? 1 : 0)
  const { host, device: there } = copies[kindOf(device)]
  return {
    parameters,
    trained: host * bytes,
    frozen,
    saving: savedCopies * bytes,
    states: train.tokensPerStep * kept * hiddenSize * (dtype === 'f32' ? 4 : 2),
    onDevice: there === 0 ? 0 : there * bytes + frozen,
  }
}

const kindOf = (device: string): keyof typeof copies =>
  device === 'cpu' || device === 'webgpu' ? device : 'cuda'
