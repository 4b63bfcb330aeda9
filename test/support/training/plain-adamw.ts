import type { AdamwSettings } from '../../../src/optim/adamw.ts'

/** AdamW without decay and without clipping. */
export const plainAdamw: AdamwSettings = {
  betas: [0.9, 0.999],
  epsilon: 1e-8,
  weightDecay: 0,
  clip: null,
  decayExclude: [],
}
