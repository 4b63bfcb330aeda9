import type { TrainingState } from '../src/checkpoint/tensors.ts'
import type { HeldOutMeasured, Measured } from '../src/training/measured.ts'
import type { CheckpointRef } from './checkpointer.ts'
import { request } from './contract.ts'
import type { GaveUp } from './ledger.ts'

/** What a trainer has to save. */
export type Capture =
  /** A copy as of the end of a step; its buffers are transferred. */
  | { readonly kind: 'state'; readonly state: TrainingState }
  /** Nothing was learnt or measured since what the asker has saved. */
  | { readonly kind: 'saved' }
  /** It has not begun: neither from a checkpoint nor from chance. */
  | { readonly kind: 'none' }

export interface StateAsk {
  /** What is saved already. A copy that was asked for before may have been lost on its way. */
  readonly saved: Pick<CheckpointRef, 'heldOutLoss' | 'step' | 'training'> | null
}

export interface TrainerStatus {
  /** Of the training: made when it starts, kept when it resumes. */
  readonly training: string
  /** Of its machine: `restoring`, `gathering`, `computing`, … */
  readonly state: string
  /** Optimizer steps done, and planned where that is known. */
  readonly step: number
  readonly steps: number | null
  /** Of the step under way: batches that are computed, of how many; null between steps. */
  readonly batches: { readonly done: number; readonly of: number } | null
  readonly epoch: number
  readonly epochs: number
  /** Seen since the training's first step. */
  readonly samples: number
  readonly tokens: number
  /** Of the last step. */
  readonly last: (Measured & { readonly lr: number; readonly gradientNorm: number }) | null
  readonly heldOut: HeldOutMeasured | null
  /** Over the last half minute, of padded batches too only those that are samples'. */
  readonly tokensPerSecond: number
  /** Steps that were not done: loss, gradient or parameters would not have been finite. */
  readonly skipped: number
  /** Where it computes. */
  readonly device: string
  /** Shares of the time of steps since the start: outside onnxruntime, */
  readonly outsideShare: number | null
  /** and in carrying tensors to the device and back: 0 on cpu, null on cuda, which cannot tell. */
  readonly transferShare: number | null
  /** All epochs are over, and the last state is ready to be saved. */
  readonly outcome: { readonly steps: number } | null
  /** It trains no more, for what a person has to change: it would meet it again. */
  readonly gaveUp: GaveUp | null
}

/** As long as a step may take: a trainer that is past its own deadline is ended by others. */
const stepMs = 4 * 3_600_000

export const trainerContract = {
  /**
   * What a checkpoint needs, when the step under way is done: training waits for the copy, and for
   * nothing else. One that is asked anew answers the newest.
   *
   * @throws  Failure `unavailable`: it was asked anew meanwhile
   */
  state: request<StateAsk, Capture>({ withinMs: stepMs }),
  /** While paused, no step is begun. */
  pause: request<boolean, void>({ withinMs: 600_000 }),
  status: request<void, TrainerStatus>({ withinMs: 600_000 }),
}
