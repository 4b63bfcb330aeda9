import type { TrainConfig } from '../config/train-schema.ts'
import { DraftVocab } from '../models/draft-vocab.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { readFrozen } from '../models/frozen.ts'
import { openTarget, requireUnchanged } from '../models/target.ts'
import type { Gate } from '../session/gate.ts'
import { Learner, type LearningOptions } from './learner.ts'

/** Logits, and scores of attention, that are there at once: beyond it, chunks follow each other. */
const chunkBytes = 256 * 2 ** 20

export interface LearnerInput {
  readonly device: string
  readonly threads: number
  readonly train: TrainConfig
  readonly drafter: DrafterConfig
  /** Ids of the target, rising, that can be drafted; null: all. */
  readonly draftVocab: readonly number[] | null
  /** Its stamp: a target that has changed since is refused. */
  readonly target: { readonly path: string; readonly stamp: string }
}

/** A learner with the target's embedding and head; its parameters are all 0 yet. */
export async function openLearner(input: LearnerInput, gate: Gate): Promise<Learner> {
  const { device, drafter, draftVocab, threads, train } = input
  const target = await openTarget(input.target.path)
  const frozen = await readFrozen(target)
  await requireUnchanged(target, input.target.stamp)
  return new Learner({
    drafter,
    tiedEmbeddings: target.config.tiedEmbeddings,
    frozen,
    ...(draftVocab && { draftVocab: new DraftVocab(draftVocab, target.vocabSize) }),
    device,
    threads,
    gate,
    options: learningOptions(train),
  })
}

export function learningOptions(train: TrainConfig): LearningOptions {
  const { anchorRule, anchors, gamma, normalize, recompute, seed } = train
  const { betas, clip, decayExclude, distill, epsilon, weightDecay } = train
  return {
    ...{ seed, anchors, anchorRule, gamma, normalize, chunkBytes, recompute },
    distillation: distill.weight > 0 ? distill : null,
    optimizer: { betas, clip, decayExclude, epsilon, weightDecay },
  }
}
