/** Whether a device trains at all, found out by letting it: a drafter's like, very small. */
import { seededRandom } from '../clock.ts'
import type { TrainConfig } from '../config/train-schema.ts'
import { Failure } from '../failure.ts'
import { DraftVocab } from '../models/draft-vocab.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { initialDrafter } from '../models/drafter-tensors.ts'
import { frozenNames } from '../models/frozen.ts'
import type { StoredDType } from '../models/hidden-states.ts'
import { spread } from '../models/spread.ts'
import { float32ToBfloat16 } from '../tensor/bfloat16.ts'
import { float32ToFloat16 } from '../tensor/float16.ts'
import { Learner, type LearningBatch } from './learner.ts'
import { learningOptions } from './open-learner.ts'

const narrowed = { bf16: float32ToBfloat16, f16: float32ToFloat16, f32: (all: Float32Array) => all }

export interface Trial {
  readonly device: string
  readonly threads: number
  readonly train: TrainConfig
  readonly drafter: DrafterConfig
  /** Of the hidden states that are stored. */
  readonly dtype: StoredDType
}

/**
 * A step of two batches, and a look at a third: with the settings of the training, the kinds of
 * layers and the blocks of its drafter, on chance; seconds, and a few megabytes.
 *
 * @returns  the step's loss
 * @throws   Failure `invalid`: the device cannot be used, or what it computes is not finite
 */
export async function trialStep(trial: Trial): Promise<number> {
  const { device, threads, train } = trial
  const drafter = miniature(trial.drafter)
  const { draftVocabSize, hiddenSize, vocabSize } = drafter
  const random = seededRandom(1)
  const ids = Array.from({ length: draftVocabSize ?? 0 }, (_, i) => 2 * i)
  const embedding = spread(random, vocabSize * hiddenSize, 0.1)
  const learner = new Learner({
    ...{ device, threads, drafter, tiedEmbeddings: true },
    frozen: new Map([[frozenNames(true).embedding, embedding]]),
    ...(draftVocabSize !== null && { draftVocab: new DraftVocab(ids, vocabSize) }),
    options: { ...learningOptions(train), anchors: Math.min(train.anchors, anchorsMax) },
  })
  try {
    learner.tensors.fill('parameters', initialDrafter(drafter, train.seed))
    const [first, second, third] = [0, 1, 2].map((plan) => batchOf(trial, drafter, plan))
    const learnt = await learner.step([first, second], train.lr)
    const looked = await learner.judge([third])
    await learner.read()
    if (learnt?.state === 'applied' && Number.isFinite(looked?.loss)) return learnt.loss
    const facts = `device=${device}, loss=${learnt?.loss}, looked at=${looked?.loss}`
    throw new Failure('invalid', `a training step does not come out finite. ${facts}`, {
      remedy: 'Train on another device: see train.devices; cpu is the reference.',
    })
  } finally {
    await learner.release()
  }
}

const anchorsMax = 4

/** The same kinds of layers and blocks, and few numbers. */
function miniature(drafter: DrafterConfig): DrafterConfig {
  const [first, ...more] = drafter.layerTypes
  const layerTypes = [first, ...more.slice(-1)]
  const vocabSize = 256
  return {
    ...drafter,
    ...{ layerTypes, layers: layerTypes.length, vocabSize, maskTokenId: vocabSize - 1 },
    ...{ hiddenSize: 64, intermediateSize: 96, heads: 4, kvHeads: 2, headDim: 16 },
    draftVocabSize: drafter.draftVocabSize === null ? null : vocabSize / 2,
  }
}

/** One row, all supervised, which holds at least one whole block by every rule of anchors. */
function batchOf({ dtype, train }: Trial, drafter: DrafterConfig, plan: number): LearningBatch {
  const tokens = Math.max(64, 2 * drafter.blockSize)
  const { hiddenSize, targetLayerIds } = drafter
  const random = seededRandom(plan + 2)
  const states = (width: number) => narrowed[dtype](spread(random, tokens * width, 1))
  return {
    plan,
    shape: { rows: 1, tokens },
    rows: [{ tokens }],
    // Every other id: those that a draft vocabulary has.
    tokenIds: BigInt64Array.from({ length: tokens }, () => 2n * BigInt(Math.floor(random() * 127))),
    lossMask: new Uint8Array(tokens).fill(1),
    hidden: states(targetLayerIds.length * hiddenSize),
    dtype,
    ...(train.distill.weight > 0 && { final: states(hiddenSize) }),
  }
}
