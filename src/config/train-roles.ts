/** What a change of each setting of `train` means to a training that has begun. */
import type { TrainConfig } from './train-schema.ts'

/**
 * `identity`: another value makes another training, and is refused; `plan`: it holds for the steps
 * that follow, which is told; `free`: it changes nothing that is learnt.
 */
export type TrainRole = 'identity' | 'plan' | 'free'

/** Does not compile while the role of a setting is missing. */
export const trainRoles = {
  /** The drafter's shape. */
  layers: 'identity',
  blockSize: 'identity',
  slidingWindow: 'identity',
  draftVocab: 'identity',
  maskTokenId: 'identity',
  /** Which samples a batch has: plan numbers would mean other ones. */
  seed: 'identity',
  heldOut: 'identity',
  anchorRule: 'identity',
  shuffleWindow: 'identity',
  tokensPerBatch: 'identity',

  epochs: 'plan',
  tokensPerStep: 'plan',
  anchors: 'plan',
  gamma: 'plan',
  normalize: 'plan',
  distill: 'plan',
  lr: 'plan',
  schedule: 'plan',
  warmup: 'plan',
  warmupFrom: 'plan',
  decayShare: 'plan',
  minLr: 'plan',
  weightDecay: 'plan',
  decayExclude: 'plan',
  betas: 'plan',
  epsilon: 'plan',
  clip: 'plan',
  /** Elsewhere, or computed twice, sums come in another order: the last bits differ. */
  devices: 'plan',
  recompute: 'plan',

  mode: 'free',
  isolation: 'free',
  skipsMax: 'free',
  samplesMin: 'free',
  heldOutEvery: 'free',
  heldOutSamples: 'free',
  queueBytes: 'free',
  keepHiddenStates: 'free',
  checkpointMinutes: 'free',
  keep: 'free',
} as const satisfies Readonly<Record<keyof TrainConfig, TrainRole>>

const roles = new Map<string, TrainRole>(Object.entries(trainRoles))

/** Values by the names of their settings, as JSON keeps them. */
export type TrainSettings = Readonly<Record<string, unknown>>

/** All that later starts are compared with. */
export const settingsOf = (train: TrainConfig): TrainSettings =>
  Object.fromEntries(Object.entries(train).filter(([name]) => roles.get(name) !== 'free'))

/**
 * A line for each setting of this role that is another now, with both values. Of what `began` does
 * not tell, nothing is said.
 */
export const settingChanges = (
  role: Exclude<TrainRole, 'free'>,
  began: TrainSettings,
  now: TrainSettings,
): string[] =>
  Object.entries(began)
    .filter(([name]) => roles.get(name) === role)
    .map(([name, value]) => [name, JSON.stringify(value), JSON.stringify(now[name])])
    .filter(([, was, is]) => was !== is)
    .map(([name, was, is]) => `train.${name}: training=${was}, now=${is}`)
