/** A learner small enough for every engine, and batches that it can learn something from. */
import { seededRandom } from '../../../src/clock.ts'
import type { DrafterConfig } from '../../../src/models/drafter-config.ts'
import { initialDrafter } from '../../../src/models/drafter-tensors.ts'
import { float32ToBfloat16 } from '../../../src/tensor/bfloat16.ts'
import {
  Learner,
  type LearnerParts,
  type LearningBatch,
  type LearningOptions,
} from '../../../src/training/learner.ts'

export const tinyDrafter: DrafterConfig = {
  layers: 1,
  hiddenSize: 32,
  intermediateSize: 48,
  vocabSize: 40,
  heads: 2,
  kvHeads: 1,
  headDim: 16,
  rmsNormEps: 1e-6,
  rope: { theta: 10_000 },
  maxPositions: 128,
  blockSize: 4,
  maskTokenId: 39,
  targetLayerIds: [1, 2],
  targetLayers: 5,
  layerTypes: ['full_attention'],
  slidingWindow: null,
  draftVocabSize: null,
}

const random = seededRandom(5)
const embedding = Float32Array.from({ length: 40 * 32 }, () => random() - 0.5)

type OptionChange = Partial<Omit<LearningOptions, 'optimizer'>> & {
  readonly optimizer?: Partial<LearningOptions['optimizer']>
}

export function tinyLearner(
  parts: Partial<Pick<LearnerParts, 'device' | 'by'>> = {},
  { optimizer, ...options }: OptionChange = {},
): Learner {
  const made = new Learner({
    drafter: tinyDrafter,
    tiedEmbeddings: true,
    frozen: new Map([['model.embed_tokens.weight', embedding]]),
    device: 'cpu',
    threads: 1,
    ...parts,
    options: {
      ...{ seed: 3, anchors: 8, anchorRule: 'next-supervised', gamma: 7, normalize: 'step' },
      ...{ chunkBytes: 4096, recompute: false, distillation: null },
      optimizer: {
        ...{ betas: [0.9, 0.999], epsilon: 1e-8, weightDecay: 0, clip: 1, decayExclude: [] },
        ...optimizer,
      },
      ...options,
    },
  })
  made.tensors.fill('parameters', initialDrafter(tinyDrafter, 1))
  return made
}

/** Ids that count up from each start, and states that tell where each stands. */
export function countingBatch(
  plan: number,
  starts: readonly number[],
  dtype: 'bf16' | 'f32' = 'bf16',
): LearningBatch {
  const tokens = 16
  const ids = starts.flatMap((start) => Array.from({ length: tokens }, (_, i) => (start + i) % 39))
  const states = ids.flatMap((id) =>
    Array.from({ length: 64 }, (_, i) => (i === id % 64 ? 4 : 0) + 0.01 * i),
  )
  const floats = Float32Array.from(states)
  return {
    plan,
    shape: { rows: starts.length, tokens },
    rows: starts.map(() => ({ tokens })),
    tokenIds: BigInt64Array.from(ids, BigInt),
    lossMask: new Uint8Array(ids.length).fill(1),
    hidden: dtype === 'f32' ? floats : float32ToBfloat16(floats),
    dtype,
  }
}
