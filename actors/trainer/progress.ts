/** How far a training is: what its checkpoints keep beside the tensors, and what is told of it. */
import { z } from 'zod'
import type { Measured } from '../../protocol/trainer.ts'
import { identityOf } from '../../src/checkpoint/accept.ts'
import type { TrainingProgress } from '../../src/checkpoint/state.ts'
import { Failure } from '../../src/failure.ts'
import { dataState, parseDataState } from '../../src/feed/data-state.ts'
import type { TrainingBatch } from '../../src/feed/training-batch.ts'
import type { TrainerInput } from './index.ts'

const count = z.int().nonnegative()

/** What of a checkpoint is this trainer's own. */
const scheduleSchema = z.object({
  /** Planned when the training began: the learning rate follows from it. */
  steps: count.positive(),
  /** Steps that changed the parameters. */
  updates: count,
  /** Steps that were not finite, and how many of them the last ones in a row. */
  skipped: count,
  skippedInRow: count,
  /** Of the last batch. */
  epoch: count,
})

/** What the loader and the learner go on with. */
export interface Resumed {
  readonly order: Uint8Array
  readonly updates: number
}

export class Progress {
  readonly #input: TrainerInput
  /** The training whose order of the data this one goes through. */
  feed: string
  step = 0
  steps: number | null = null
  plan = 0
  epoch = 0
  samples = 0
  tokens = 0
  skipped = 0
  skippedInRow = 0
  heldOut: Measured | null = null
  #heldOutLoss: number | null = null
  #tau: number | null = null

  constructor(input: TrainerInput) {
    this.#input = input
    this.feed = input.training
  }

  /** @throws  Failure `corrupt`: a checkpoint's own part cannot be read */
  resume(saved: TrainingProgress): Resumed {
    const { plan, record: order, log } = parseDataState(saved.data)
    const { updates, ...schedule } = scheduleOf(saved.schedule)
    const { samples, step, tokens } = saved
    Object.assign(this, { ...schedule, samples, step, tokens, plan, feed: log.training })
    this.#heldOutLoss = saved.heldOutLoss
    this.#tau = saved.tau
    return { order, updates }
  }

  /** Batches that were gathered, learnt from or not. */
  passed(batches: readonly TrainingBatch[]): void {
    this.plan += batches.length
    this.epoch = batches.at(-1)?.epoch ?? this.epoch
    for (const { rows } of batches) {
      this.samples += rows.length
      this.tokens += rows.reduce((sum, { tokens }) => sum + tokens, 0)
    }
  }

  measured(heldOut: Measured): void {
    this.heldOut = heldOut
    this.#heldOutLoss = heldOut.loss
    this.#tau = heldOut.acceptanceLength
  }

  /** For a checkpoint. */
  toSave(more: { readonly updates: number; readonly order: Uint8Array }): TrainingProgress {
    const { captured, drafter, target, train } = this.#input
    const { epoch, skipped, skippedInRow, steps } = this
    return {
      training: this.#input.training,
      step: this.step,
      samples: this.samples,
      tokens: this.tokens,
      heldOutLoss: this.#heldOutLoss,
      tau: this.#tau,
      ...identityOf(drafter, { fingerprint: target.fingerprint, layers: captured }),
      schedule: { steps: steps ?? 1, updates: more.updates, skipped, skippedInRow, epoch },
      data: dataState(this.plan, more.order),
      random: { seed: train.seed },
    }
  }
}

function scheduleOf(json: unknown) {
  const parsed = scheduleSchema.safeParse(json)
  if (parsed.success) return parsed.data
  throw new Failure('corrupt', 'the schedule in a checkpoint cannot be read', {
    cause: parsed.error,
    remedy: 'Go on from another checkpoint.',
  })
}
