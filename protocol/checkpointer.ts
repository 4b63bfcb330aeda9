import type { Expected } from '../src/checkpoint/accept.ts'
import type { TrainingState } from '../src/checkpoint/tensors.ts'
import { request } from './contract.ts'
import type { GaveUp } from './ledger.ts'

/** A checkpoint that is in the store, whole. */
export interface CheckpointRef {
  /** Of its folder below `checkpoints/`. */
  readonly name: string
  readonly training: string
  readonly step: number
  /** What held-out samples had come to by then; null where that was not measured. */
  readonly heldOutLoss: number | null
  /** Of both its files. */
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly savedAt: number
}

export interface RestoreAsk {
  readonly training: string
  /** One of another training too; null: the newest complete one of this. */
  readonly checkpoint: string | null
  readonly expected: Expected
}

export interface RestoredState {
  readonly from: CheckpointRef
  /** Its buffers are transferred. */
  readonly state: TrainingState
}

export interface CheckpointerStatus {
  /** Of its machine: `idle`, `capturing`, `sending`, … */
  readonly state: string
  /** Saved or restored last, by this start. */
  readonly last: CheckpointRef | null
  /** How old that is, whatever became of the machine's clock since; null where there is none. */
  readonly lastAgeMs: number | null
  /** Why the last try to save failed; null once one has succeeded. */
  readonly lastError: string | null
  /** Milliseconds since the epoch: since when every try has failed. */
  readonly failingSince: number | null
  /** Set once the training is not to go on without its checkpoints. */
  readonly gaveUp: GaveUp | null
}

/** A save of many gigabytes over a slow line, and the one under way before it. */
const saveMs = 4 * 3_600_000
const restoreMs = 2 * 3_600_000

export const checkpointerContract = {
  /**
   * Saves what is trained by now. Asked while a save is under way, it is answered by the next; so
   * are all who ask meanwhile. Null: there is nothing to save yet.
   *
   * @throws  Failure `invalid`: what is trained holds NaN or infinity, and is never saved; else as
   *          the store threw it last, once the deadline has passed, or at the drain
   */
  save: request<void, CheckpointRef | null>({ withinMs: saveMs }),
  /**
   * Null where the training has no complete checkpoint: it begins.
   *
   * @throws  Failure `invalid`: it is of another drafter or target, holds what is no number, or
   *          there is none of that name; `corrupt`: the one that was named is half
   */
  restore: request<RestoreAsk, RestoredState | null>({ withinMs: restoreMs }),
  status: request<void, CheckpointerStatus>(),
}
