import { acceptanceLength, accuracy, accuracyBySlot } from './acceptance.ts'
import type { Learnt } from './learner.ts'

/** What a step gave, or a look at held-out samples. */
export interface Measured {
  readonly step: number
  /** Weighted mean of the cross-entropy, natural logarithm. */
  readonly loss: number
  /** Share of the supervised slots that are right; by slot from 1 on. */
  readonly accuracy: number
  readonly accuracyBySlot: readonly number[]
  /** Simulated: leading right slots of a block, and 1. */
  readonly acceptanceLength: number
}

/** Of a look at held-out samples: so many were used. */
export interface HeldOutMeasured extends Measured {
  readonly samples: number
}

export const measured = (step: number, { loss, acceptance }: Learnt): Measured => ({
  step,
  loss,
  accuracy: accuracy(acceptance),
  accuracyBySlot: accuracyBySlot(acceptance),
  acceptanceLength: acceptanceLength(acceptance),
})
