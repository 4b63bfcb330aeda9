import type { checkpointerContract } from '../../protocol/checkpointer.ts'
import { LearntDeadline } from '../../protocol/learnt-deadline.ts'
import type { Peer } from '../../protocol/peer.ts'
import type { Pulse } from '../../protocol/pulse.ts'
import type { TrainerStatus } from '../../protocol/trainer.ts'
import { identityOf } from '../../src/checkpoint/accept.ts'
import { type Clock, systemClock, wallClock } from '../../src/clock.ts'
import { explain, Failure } from '../../src/failure.ts'
import type { TrainingBatch } from '../../src/feed/training-batch.ts'
import type { Log } from '../../src/log.ts'
import { drafterTensors, initialDrafter } from '../../src/models/drafter-tensors.ts'
import type { Stepped } from '../../src/optim/adamw.ts'
import { lrSchedule } from '../../src/optim/schedule.ts'
import { probe } from '../../src/probe.ts'
import { Rate } from '../../src/rate.ts'
import type { Learner, Learnt } from '../../src/training/learner.ts'
import { measured } from '../../src/training/measured.ts'
import { MetricsFile } from '../../src/training/metrics-file.ts'
import { adopt, mapsOf } from './capture.ts'
import type { TrainingData } from './data.ts'
import type { TrainerInput } from './index.ts'
import type { Gathered } from './machine.ts'
import { Progress, tokensOf } from './progress.ts'

/** How long a step may take, at least: it may meet a shape of which there is no graph yet. */
const stepMs = 10 * 60_000
/** Of a long list in a message. */
const namedMax = 8

export interface StepParts {
  readonly input: TrainerInput
  readonly learner: Learner
  readonly data: TrainingData
  readonly checkpointer: Peer<typeof checkpointerContract>
  readonly pulse: Pulse
  readonly log: Log
  readonly clock?: Clock
}

/** What each state of a trainer's life does. */
export class Steps {
  readonly progress: Progress
  readonly #parts: StepParts
  readonly #deadline = new LearntDeadline(stepMs)
  readonly #metrics: MetricsFile
  readonly #speed = new Rate()
  readonly #clock: Clock
  #rateAt: (step: number) => number = () => 0
  #last: TrainerStatus['last'] = null
  #batches: TrainerStatus['batches'] = null
  /** Of the step that is gathered. */
  #gathered: TrainingBatch[] = []

  constructor(parts: StepParts) {
    this.#parts = parts
    this.#clock = parts.clock ?? systemClock
    this.progress = new Progress(parts.input)
    const { work, training } = parts.input
    const clock = parts.clock ?? wallClock
    this.#metrics = new MetricsFile({ work, training, log: parts.log, clock })
  }

  /** From the newest checkpoint, or from chance. */
  async restore(): Promise<void> {
    const { checkpointer, data, input, learner, log } = this.#parts
    const { captured, drafter, from, target, train, training } = input
    const tensors = drafterTensors(drafter)
    const identity = identityOf(drafter, { fingerprint: target.fingerprint, layers: captured })
    const expected = { tensors, ...identity, ...mapsOf(input) }
    const ask = { training, expected }
    const newest = { ...ask, checkpoint: null }
    const first = { ...ask, checkpoint: from }
    const restored =
      (await checkpointer.again((saved) => saved.restore(newest))) ??
      (from === null ? null : await checkpointer.again((saved) => saved.restore(first)))
    const resumed = restored && this.progress.resume(restored.state.progress)
    if (restored && resumed) adopt(learner, restored.state.tensors, resumed.updates)
    else learner.tensors.fill('parameters', initialDrafter(drafter, train.seed))
    const size = await data.begin(this.progress.feed, resumed?.order ?? null)
    const isOther = this.progress.planSteps(size.batchesExpected)
    const { step, steps } = this.progress
    this.#rateAt = lrSchedule({ ...train, steps: steps ?? 1 })
    if (isOther) log.warn({ step, steps }, 'the training goes on by another plan of its steps')
    log.info(
      { training, step, steps, from: restored?.from.name ?? null },
      restored ? 'the training goes on' : 'a training begins',
    )
  }

  /** The batches of the next step; those of a shape of nothing hold its place alone. */
  async gather(): Promise<Gathered> {
    while (!this.#isWhole) {
      const next = await this.#parts.data.next(this.progress.plan + this.#gathered.length)
      if (typeof next === 'string') return { kind: next }
      this.#gathered.push(next)
    }
    const batches = this.#gathered
    this.#gathered = []
    return { kind: 'step', batches }
  }

  /** @returns  whether held-out samples are to be looked at now */
  async compute(batches: readonly TrainingBatch[]): Promise<boolean> {
    const { input, learner, pulse } = this.#parts
    const { progress } = this
    const learnable = batches.filter(({ rows }) => rows.length > 0)
    const lr = this.#rateAt(progress.step)
    const started = performance.now()
    pulse.busy(`step ${progress.step + 1}`, this.#deadline.ms)
    const passed = (done: number) => this.#passed(learnable, done)
    if (learnable.length > 0) passed(0)
    const learnt = learnable.length > 0 ? await learner.step(learnable, lr, passed) : undefined
    pulse.idle()
    this.#batches = null
    this.#deadline.took(performance.now() - started)
    progress.passed(batches)
    if (!learnt) return false
    progress.step++
    this.#note(learnt, { lr, batches: learnable })
    probe('trainer.stepped')
    return progress.step % input.train.heldOutEvery === 0
  }

  /** What the parameters are worth on samples they never saw. */
  async measure(): Promise<void> {
    const { learner, log } = this.#parts
    let samples = 0
    const looked = (batch: TrainingBatch) => {
      samples += batch.rows.length
    }
    const learnt = await learner.judge(this.#heldOut(looked))
    if (!learnt) return this.#sawNone(samples)
    const heldOut = { ...measured(this.progress.step, learnt), samples }
    this.progress.measured(heldOut)
    this.#metrics.write('heldOut', { ...heldOut })
    log.info(heldOut, 'on held-out samples')
  }

  /**
   * @param state    of the machine
   * @param failure  what ended the training, where something did
   */
  status(state: string, failure: Failure | null): TrainerStatus {
    const { input } = this.#parts
    const { epoch, heldOut, samples, skipped, step, steps, tokens } = this.progress
    return {
      training: input.training,
      state,
      batches: this.#batches,
      ...{ step, steps, epoch, epochs: input.train.epochs, samples, tokens, skipped, heldOut },
      last: this.#last,
      tokensPerSecond: this.#speed.perSecond,
      device: input.device,
      ...this.#shares(),
      outcome: state === 'finished' ? { steps: step } : null,
      gaveUp: failure && { reason: explain(failure), remedy: failure.remedy ?? null },
    }
  }

  /** No more is done. */
  end(): void {
    this.#metrics.end()
  }

  work(state: string): string {
    return state === 'computing' ? `step ${this.progress.step + 1}` : state
  }

  /** The data end with each epoch: a step is then of what there is. */
  get #isWhole(): boolean {
    const ended = this.#gathered.at(-1)?.isLastOfEpoch ?? false
    return ended || this.#gathered.length >= this.progress.batchesPerStep
  }

  /** One at a time: of large ones no two would find room. */
  async *#heldOut(looked: (batch: TrainingBatch) => void): AsyncGenerator<TrainingBatch> {
    const { data, input, pulse } = this.#parts
    if (input.train.heldOut === null) return
    for await (const batch of data.heldOut()) {
      pulse.busy('held-out samples', this.#deadline.ms)
      yield batch
      looked(batch)
      pulse.idle()
    }
  }

  /** Whoever waits for the figure hears why there is none. */
  #sawNone(samples: number): void {
    const { input, log } = this.#parts
    if (input.train.heldOut === null) return
    const facts = { step: this.progress.step, samples }
    log.warn(facts, 'nothing that is held out could be looked at: there is no figure of it')
  }

  #shares(): Pick<TrainerStatus, 'outsideShare' | 'transferShare'> {
    const { insideMs, stepsMs, transferMs } = this.#parts.learner.spent
    if (stepsMs === 0) return { outsideShare: null, transferShare: null }
    return {
      outsideShare: 1 - insideMs / stepsMs,
      transferShare: transferMs === null ? null : transferMs / stepsMs,
    }
  }

  /** A step may take minutes: what it has come to is told batch by batch. */
  #passed(batches: readonly TrainingBatch[], done: number): void {
    this.#batches = { done, of: batches.length }
    const tokens = this.progress.tokens + tokensOf(batches.slice(0, done))
    this.#speed.note(tokens, this.#clock.now())
  }

  #note(
    learnt: Learnt & Stepped,
    { lr, batches }: { readonly lr: number; readonly batches: readonly TrainingBatch[] },
  ): void {
    const { progress } = this
    this.#speed.note(progress.tokens, this.#clock.now())
    const gradientNorm = learnt.state === 'applied' ? learnt.gradientNorm : Number.NaN
    this.#last = { ...measured(progress.step, learnt), lr, gradientNorm }
    const { epoch, tokens } = progress
    const facts = { ...this.#last, epoch, tokens, tokensPerSecond: this.#speed.perSecond }
    this.#metrics.write('step', facts)
    if (learnt.state === 'applied') progress.skippedInRow = 0
    else this.#skipped(learnt.tensors, batches)
  }

  /** @throws  Failure `invalid`: too many in a row */
  #skipped(tensors: readonly string[], batches: readonly TrainingBatch[]): void {
    const { input, log } = this.#parts
    const { progress } = this
    progress.skipped++
    progress.skippedInRow++
    const rows = batches.flatMap((batch) => batch.rows.map(({ hash }) => hash))
    const facts = { step: progress.step, tensors: tensors.slice(0, namedMax), rows }
    log.warn(facts, 'a step was skipped: loss, gradient or parameters would not be finite')
    if (progress.skippedInRow < input.train.skipsMax) return
    const named = `step=${progress.step}, rows=${rows.slice(0, namedMax).join(', ')}`
    throw new Failure(
      'invalid',
      `${progress.skippedInRow} steps in a row were not finite. ${named}`,
      { remedy: 'Lower train.lr or train.clip, and look at these rows with `draftsmith explain`.' },
    )
  }
}
