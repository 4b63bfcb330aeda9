import type { ChildSpec } from '../../protocol/child.ts'
import type { RetainRule } from '../../src/checkpoint/retain.ts'
import type { StorePlace } from '../../src/store/patient.ts'
import type { PartSizes } from '../../src/store/put-file.ts'

export interface CheckpointerInput {
  /** Id of the actor whose state is saved. */
  readonly trainer: string
  readonly store: StorePlace
  /** Tries of one request to the store. */
  readonly attempts: number
  /** Between the end of one save and the beginning of the next. */
  readonly everyMinutes: number
  /** How long saves may fail before the training is told to end. */
  readonly deadlineMinutes: number
  readonly keep: RetainRule
  /** Absent: parts as usual. */
  readonly partSizes?: PartSizes
}

/** The trainer's state → checkpoints in the store; and back, when a training goes on. */
export const checkpointer = (input: CheckpointerInput): ChildSpec => ({
  id: 'checkpointer',
  entry: new URL('./worker.js', import.meta.url),
  input,
  asks: ['ledger', input.trainer],
  restart: 'always',
  readyMs: 30_000,
  drainMs: 600_000, // a last save over a slow line; a second signal hurries it
  drainsAfter: [input.trainer],
  heartbeatMs: 30_000,
})
