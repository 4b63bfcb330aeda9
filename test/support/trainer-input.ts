/** A trainer of a tiny drafter: four epochs, four batches a step. */
import type { TrainerInput } from '../../actors/trainer/index.ts'
import { defaultTraining } from '../../src/config/train-schema.ts'
import { OrderLog } from '../../src/feed/order-log.ts'
import { drafterConfigOf } from '../../src/models/drafter-fit.ts'
import { openTarget } from '../../src/models/target.ts'
import { golden } from './golden.ts'

const { config } = await openTarget(golden('targets', 'qwen3_tied_f32'))
const choice = {
  layers: 1,
  blockSize: 4,
  targetLayerIds: [1],
  slidingWindow: null,
  maskTokenId: null,
}

export const trainerInput = (train: Partial<TrainerInput['train']> = {}): TrainerInput => ({
  ...{ training: 'a-training', from: null, device: 'cpu', threads: 1, work: '', paused: false },
  train: { ...defaultTraining, epochs: 4, tokensPerStep: 400, tokensPerBatch: 100, ...train },
  drafter: drafterConfigOf(config, { ...choice, draftVocabSize: null }),
  draftVocab: null,
  target: { path: '', fingerprint: 'a-target', stamp: '' },
  captured: [1],
})

const rule = { seed: 0, shuffleWindow: 1, tokensPerBatch: 100, anchorRule: '', blockSize: 4 }
/** At held-out samples, without the loss. */
export const looked = { accuracy: 1, accuracyBySlot: [1], acceptanceLength: 2, samples: 1 }
/** What its loader records. */
export const order = new OrderLog({ training: 'a-training', rule, split: null }).encode()
