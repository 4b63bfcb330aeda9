/** How far a training is: what its checkpoints keep beside the tensors, and what is told of it. */
import { z } from 'zod'
import type { StateAsk } from '../../protocol/trainer.ts'
import { identityOf } from '../../src/checkpoint/accept.ts'
import type { TrainingProgress } from '../../src/checkpoint/state.ts'
import type { TrainConfig } from '../../src/config/train-schema.ts'
import { Failure } from '../../src/failure.ts'
import { dataState, parseDataState } from '../../src/feed/data-state.ts'
import type { TrainingBatch } from '../../src/feed/training-batch.ts'
import type { HeldOutMeasured } from '../../src/training/measured.ts'
import type { TrainerInput } from './index.ts'

const count = z.int().nonnegative()

/** What of a checkpoint is this trainer's own. */
const scheduleSchema = z.object({
  /** Planned when the training began: the learning rate follows from it. */
  steps: count.positive(),
  /** What that was planned for. */
  epochs: count.positive(),
  batchesPerStep: count.positive(),
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
  /** What the steps are planned for: as configured, until a checkpoint tells otherwise. */
  epochs: number
  batchesPerStep: number
  plan = 0
  epoch = 0
  samples = 0
  tokens = 0
  skipped = 0
  skippedInRow = 0
  heldOut: HeldOutMeasured | null = null
  #heldOutLoss: number | null = null
  #tau: number | null = null

  constructor(input: TrainerInput) {
    this.#input = input
    this.feed = input.training
    this.epochs = input.train.epochs
    this.batchesPerStep = batchesPerStepOf(input.train)
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

  /**
   * Plans the steps of a training that begins, and anew of one that goes on with other epochs or
   * other steps than it was planned for.
   *
   * @param batches  of an epoch
   * @returns        whether a plan was given up for it
   */
  planSteps(batches: number): boolean {
    const { train } = this.#input
    const perStep = batchesPerStepOf(train)
    const isNew = this.steps === null
    if (!isNew && this.epochs === train.epochs && this.batchesPerStep === perStep) return false
    this.epochs = train.epochs
    this.batchesPerStep = perStep
    // An epoch's last step may be smaller: epochs are counted one by one.
    const [done, within] = [Math.floor(this.plan / batches), this.plan % batches]
    const epochs = Math.max(0, train.epochs - done)
    const ahead = epochs * Math.ceil(batches / perStep) - Math.floor(within / perStep)
    this.steps = Math.max(1, this.step + Math.max(0, ahead))
    return !isNew
  }

  /** Batches that were gathered, learnt from or not. */
  passed(batches: readonly TrainingBatch[]): void {
    this.plan += batches.length
    this.epoch = batches.at(-1)?.epoch ?? this.epoch
    for (const { rows } of batches) this.samples += rows.length
    this.tokens += tokensOf(batches)
  }

  measured(heldOut: HeldOutMeasured): void {
    this.heldOut = heldOut
    // What overflows is no figure that a checkpoint could be the best by, nor one that it can hold.
    this.#heldOutLoss = finite(heldOut.loss)
    this.#tau = finite(heldOut.acceptanceLength)
  }

  /** Whether a checkpoint holds all of it. A figure that is measured anew may come out the same. */
  isIn({ heldOutLoss, step, training }: NonNullable<StateAsk['saved']>): boolean {
    const isSame = training === this.#input.training && step === this.step
    return isSame && heldOutLoss === this.#heldOutLoss
  }

  /** For a checkpoint. */
  toSave(more: { readonly updates: number; readonly order: Uint8Array }): TrainingProgress {
    const { captured, drafter, target, train } = this.#input
    const { batchesPerStep, epoch, epochs, skipped, skippedInRow, steps } = this
    return {
      training: this.#input.training,
      step: this.step,
      samples: this.samples,
      tokens: this.tokens,
      heldOutLoss: this.#heldOutLoss,
      tau: this.#tau,
      ...identityOf(drafter, { fingerprint: target.fingerprint, layers: captured }),
      schedule: {
        ...{ steps: steps ?? 1, epochs, batchesPerStep },
        ...{ updates: more.updates, skipped, skippedInRow, epoch },
      },
      data: dataState(this.plan, more.order),
      random: { seed: train.seed },
    }
  }
}

const finite = (figure: number): number | null => (Number.isFinite(figure) ? figure : null)

/** Of the samples themselves, without padding. */
export const tokensOf = (batches: readonly TrainingBatch[]): number =>
  batches.flatMap(({ rows }) => rows).reduce((sum, { tokens }) => sum + tokens, 0)

/** An optimizer step is the sum of so many batches; the last of an epoch, of what is left. */
const batchesPerStepOf = ({ tokensPerBatch, tokensPerStep }: TrainConfig): number =>
  Math.max(1, Math.round(tokensPerStep / tokensPerBatch))

function scheduleOf(json: unknown) {
  const parsed = scheduleSchema.safeParse(json)
  if (parsed.success) return parsed.data
  throw new Failure('corrupt', 'the schedule in a checkpoint cannot be read', {
    cause: parsed.error,
    remedy: 'Go on from another checkpoint.',
  })
}
