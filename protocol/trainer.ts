import type { TrainingState } from '../src/checkpoint/tensors.ts'
import { request } from './contract.ts'

/** What a trainer has to save. */
export type Capture =
  /** A copy as of the end of a step; its buffers are transferred. */
  | { readonly kind: 'state'; readonly state: TrainingState }
  /** Nothing was learnt since the step that the asker has saved. */
  | { readonly kind: 'saved' }
  /** It has not begun: neither from a checkpoint nor from chance. */
  | { readonly kind: 'none' }

export interface StateAsk {
  /** The step that is saved already, and of which training. */
  readonly saved: { readonly training: string; readonly step: number } | null
}

export const trainerContract = {
  /**
   * What a checkpoint needs, when the step under way is done: training waits for the copy, and for
   * nothing else.
   */
  state: request<StateAsk, Capture>({ withinMs: 600_000 }),
}
