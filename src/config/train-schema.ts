/** The configuration of training; the defaults are SpecForge's where it has one. */
import { z } from 'zod'
import { bytes, count, trainingDevice } from './fields.ts'

/** From 0 up to, without, 1. */
const share = z.number().min(0).lt(1)
const moment = z.number().min(0).lt(1)

const fields = z.strictObject({
  mode: z.enum(['offline', 'online']).default('offline'),
  devices: z.array(trainingDevice).min(1).default(['cpu']),
  isolation: z.enum(['thread', 'process']).default('thread'),
  epochs: count.default(6),
  seed: z.int().nonnegative().max(0xffff_ffff).default(0),

  /** The drafter: its own layers, tokens of a block, positions that a sliding layer sees. */
  layers: count.max(64).default(5),
  blockSize: z.int().min(2, 'no block. want=2 tokens or more').max(256).default(16),
  slidingWindow: count.nullable().default(null),
  /** So many tokens of the vocabulary, the most frequent ones, can be drafted; null: all. */
  draftVocab: count.nullable().default(null),
  /** What the slots to be drafted hold; null: the last id of the vocabulary. */
  maskTokenId: z.int().nonnegative().nullable().default(null),

  /** Blocks of a sample at once, at most. */
  anchors: count.default(512),
  /** Which positions may be anchors: SpecForge's rule, TorchSpec's, speculators'. */
  anchorRule: z
    .enum(['next-supervised', 'whole-block', 'before-last-block'])
    .default('next-supervised'),
  /** Slot k weighs exp(−(k − 1) / gamma); null: all weigh the same. */
  gamma: z.number().min(0.1).max(1e4).nullable().default(7),
  /**
   * What the weighted sum of cross-entropies is divided by: the weights of the whole step
   * (SpecForge), those of each batch, then averaged (TorchSpec), or the supervised slots
   * (speculators).
   */
  normalize: z.enum(['step', 'batch', 'supervised']).default('step'),
  /** Share of the loss that is KL from the target's own distribution; wants target.captureFinal. */
  distill: z
    .strictObject({
      weight: z.number().min(0).max(1).default(0),
      temperature: z.number().min(0.01).max(100).default(1),
    })
    .prefault({}),

  lr: z.number().positive('no learning rate. want=more than 0').max(1).default(6e-4),
  schedule: z.enum(['cosine', 'wsd', 'constant']).default('cosine'),
  /** Shares of all steps: of rising from 0, and, for wsd, of falling at the end. */
  warmup: share.default(0.04),
  decayShare: share.default(0.1),
  /** What a schedule falls to. */
  minLr: z.number().min(0).default(0),
  /** The first step's: one step of the warm-up (SpecForge), or 0 (TorchSpec). */
  warmupFrom: z.enum(['one-step', 'zero']).default('one-step'),
  weightDecay: z.number().min(0).max(1).default(0),
  /** Ends of the names of tensors that do not decay: `norm.weight`. */
  decayExclude: z.array(z.string().min(1)).default([]),
  betas: z.tuple([moment, moment]).default([0.9, 0.999]),
  epsilon: z.number().min(1e-16).max(1).default(1e-8),
  /** The gradient's norm, at most; null: not clipped. */
  clip: z.number().positive().nullable().default(1),
  /** After so many steps in a row whose loss or gradient is not finite, training stops. */
  skipsMax: count.default(10),

  /** Layers are computed again on the way back: less memory, about a third more time. */
  recompute: z.boolean().default(false),

  /** Tokens of an optimizer step, and of the batches that it is summed from. */
  tokensPerStep: count.default(65_536),
  tokensPerBatch: count.default(16_384),
  /** Fewer samples to train on are refused when a training begins on what is stored; null: any. */
  samplesMin: count.nullable().default(null),
  /** Share of the samples that are never trained on. */
  heldOut: z.number().gt(0).lt(1).nullable().default(0.02),
  /** Steps between two looks at them. */
  heldOutEvery: count.default(500),
  /** So many of them are looked at, the same ones each time; null: all. */
  heldOutSamples: count.nullable().default(512),
  /** Samples among which the order is drawn. */
  shuffleWindow: count.default(10_000),
  queueBytes: bytes.prefault('8GB'),
  keepHiddenStates: z.boolean().default(false),

  checkpointMinutes: z.number().positive().default(30),
  /** Of the complete checkpoints: the last ones, the best one, and one every so many steps. */
  keep: z
    .strictObject({ last: count.default(3), every: count.nullable().default(null) })
    .prefault({}),
})

// Where the rate itself is wrong, that alone is told.
export const train = fields.refine(({ lr, minLr }) => lr <= 0 || minLr <= lr, {
  path: ['minLr'],
  message: 'more than what it falls from. want=train.lr or less',
})

export type TrainConfig = z.output<typeof train>

/** Of a training that nothing was said of. */
export const defaultTraining: TrainConfig = train.parse({})
