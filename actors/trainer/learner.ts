import { DraftVocab } from '../../src/models/draft-vocab.ts'
import { readFrozen } from '../../src/models/frozen.ts'
import { openTarget, requireUnchanged } from '../../src/models/target.ts'
import type { Gate } from '../../src/session/gate.ts'
import { Learner } from '../../src/training/learner.ts'
import type { TrainerInput } from './index.ts'

/** Logits, and scores of attention, that are there at once: beyond it, chunks follow each other. */
const chunkBytes = 256 * 2 ** 20

/** A learner with the target's embedding and head; its parameters are all 0 yet. */
export async function openLearner(input: TrainerInput, gate: Gate): Promise<Learner> {
  const { device, drafter, draftVocab, threads, train } = input
  const target = await openTarget(input.target.path)
  const frozen = await readFrozen(target)
  await requireUnchanged(target, input.target.stamp)
  const { anchorRule, anchors, gamma, normalize, seed } = train
  const { betas, clip, decayExclude, distill, epsilon, weightDecay } = train
  return new Learner({
    drafter,
    tiedEmbeddings: target.config.tiedEmbeddings,
    frozen,
    ...(draftVocab && { draftVocab: new DraftVocab(draftVocab, target.vocabSize) }),
    device,
    threads,
    gate,
    options: {
      ...{ seed, anchors, anchorRule, gamma, normalize, chunkBytes },
      recompute: train.recompute,
      distillation: distill.weight > 0 ? distill : null,
      optimizer: { betas, clip, decayExclude, epsilon, weightDecay },
    },
  })
}
