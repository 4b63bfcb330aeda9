import type { ChildSpec } from '../../protocol/child.ts'
import type { TrainConfig } from '../../src/config/train-schema.ts'
import type { DrafterConfig } from '../../src/models/drafter-config.ts'

/** How long its start may take: the target's embedding from a slow disk. */
export const loadMs = 600_000

export interface TrainerInput {
  /** Id of the training: whoever has begun it made one. */
  readonly training: string
  /** The checkpoint that it began from, by name; null: from chance. */
  readonly from: string | null
  readonly device: string
  /** How many compute, the actor's own among them. */
  readonly threads: number
  readonly train: TrainConfig
  readonly drafter: DrafterConfig
  /** Ids of the target, rising, that can be drafted; null: all. */
  readonly draftVocab: readonly number[] | null
  readonly target: {
    readonly path: string
    readonly fingerprint: string
    /** A target that changes while the run goes on is refused. */
    readonly stamp: string
  }
  /** The layers that were captured, in the order stored. */
  readonly captured: readonly number[]
  readonly work: string
  /** Nothing is learnt until whoever extracts on the same device is done. */
  readonly paused: boolean
}

/** Batches → steps of the drafter's parameters. */
export const trainer = (
  input: TrainerInput,
  ids: { readonly id: string; readonly loader: string; readonly checkpointer: string },
): ChildSpec => ({
  id: ids.id,
  entry: new URL('./worker.js', import.meta.url),
  isolation: input.train.isolation,
  input,
  asks: [ids.loader, ids.checkpointer],
  restart: 'always',
  readyMs: loadMs,
  drainMs: 600_000, // the step in hand
  drainsAfter: [],
  heartbeatMs: 30_000,
})
