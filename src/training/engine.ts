/** Who computes a learner's steps: each kind of device has its own way to keep what is trained. */
import type { StoredDType } from '../models/hidden-states.ts'
import type { Stepped } from '../optim/adamw.ts'
import type { FlatTensors } from '../optim/flat.ts'
import type { Feeds } from '../session/feed.ts'
import type { SessionOptions } from '../session/session.ts'
import type { BatchShape } from './block-rows.ts'
import type { Results } from './results.ts'

/** A batch of a step, laid out: weights are those of the whole step, so that losses add up. */
export interface MicroBatch {
  readonly shape: BatchShape
  readonly dtype: StoredDType
  /** Of the graph: all but what is trained and what is frozen. */
  readonly feeds: Feeds
  /** Where it is written what came of it. */
  readonly results: Results
}

/** Milliseconds that steps took since the start; looks at held-out samples are none. */
export interface Spent {
  /** Inside onnxruntime. */
  readonly insideMs: number
  /**
   * Of these, in runs that do nothing but carry tensors to the device or from it. Null: what a run
   * carries and what it computes are not told apart.
   */
  readonly transferMs: number | null
}

/** Called after each batch of a step, with how many were computed by then. */
export type Passed = (batches: number) => void

/** One thing at a time is asked of it, `read` apart. */
export interface Engine {
  /** Parameters and moments: what `read` found there, or what was written there since. */
  readonly tensors: FlatTensors
  /** Updates that were applied. To set it is to say that `tensors` were written. */
  updates: number
  readonly spent: Spent
  /**
   * All results are filled in; where loss or gradient is not finite nothing else changes.
   *
   * @param passed  told how many of the batches are computed, where they are one by one
   */
  step(batches: readonly MicroBatch[], lr: number, passed: Passed): Promise<Stepped>
  judge(batch: MicroBatch): Promise<void>
  /** Brings `tensors` up to date, as of the end of the last whole step. */
  read(): Promise<void>
  release(): Promise<void>
}

/** The loss of a step: its batches' together. */
export const lossOf = (batches: readonly MicroBatch[]): number =>
  batches.reduce((sum, { results }) => sum + results.loss.data[0], 0)

/** What of a learner's parts an engine's sessions are opened with. */
export const sessionOptions = ({ device, threads, gate }: SessionOptions): SessionOptions => ({
  ...{ device, threads },
  ...(gate && { gate }),
})
