import type { CheckpointerStatus } from '../../protocol/checkpointer.ts'
import type { Speed, TrainingStatus } from '../../protocol/console.ts'
import type { LedgerStatus } from '../../protocol/ledger.ts'
import type { LoaderStatus } from '../../protocol/loader.ts'
import type { SourceStatus } from '../../protocol/source.ts'
import type { TrainerStatus } from '../../protocol/trainer.ts'
import { type Clock, sleep, systemClock } from '../../src/clock.ts'
import { isFailure } from '../../src/failure.ts'
import type { Asked } from './asked.ts'
import { judge } from './judge.ts'
import type { RunEvent } from './machine.ts'
import { RowsSoFar } from './rows-so-far.ts'
import { Counted, Speeds } from './status.ts'

/** How long the others wait for a trainer's answer. */
const patienceMs = 1000

/** Where a question is under way: that one, or another after it. */
type How = 'ask' | 'askAnew'

/** What one tells of itself, who may be long in telling: one question at a time. */
class Answered<T> {
  /** What it told last; null until it has. */
  last: T | null = null
  #asked: Promise<void> | undefined

  /** Settles when the question under way, or this one, is answered, or nobody is there for it. */
  ask(question: () => Promise<T>): Promise<void> {
    this.#asked ??= this.#hear(question).finally(() => {
      this.#asked = undefined
    })
    return this.#asked
  }

  /** As `ask`, but of a question that is under way it is the one after it that is answered. */
  async askAnew(question: () => Promise<T>): Promise<void> {
    await this.#asked
    await this.ask(question)
  }

  async #hear(question: () => Promise<T>): Promise<void> {
    try {
      this.last = await question()
    } catch (error) {
      // It is away for a moment; the supervisor knows.
      if (!isFailure(error, 'unavailable')) throw error
    }
  }
}

/** Where the work stands: what those who know told when they were asked last. */
export class Standing {
  readonly #clock: Clock
  readonly #speeds = new Speeds()
  readonly #spooled = new Counted()
  readonly #stored = new Counted()
  readonly #rows = new RowsSoFar()
  #source: SourceStatus | null = null
  #ledger: LedgerStatus | null = null
  readonly #trainer = new Answered<TrainerStatus>()
  readonly #checkpointer = new Answered<CheckpointerStatus>()
  readonly #loader = new Answered<LoaderStatus>()
  #hasLearnt = false
  /** What was asked last, until it is answered. */
  #underWay: Promise<readonly RunEvent[]> | undefined

  constructor(clock = systemClock) {
    this.#clock = clock
  }

  get source(): SourceStatus | null {
    return this.#source
  }

  get ledger(): LedgerStatus | null {
    return this.#ledger
  }

  get training(): TrainingStatus | null {
    const [trainer, checkpoints] = [this.#trainer.last, this.#checkpointer.last]
    return trainer && checkpoints && { trainer, checkpoints, loader: this.#loader.last }
  }

  get speed(): Speed {
    return this.#speeds.read()
  }

  /**
   * Asks all, and nobody while they are being asked.
   *
   * @returns  what their words mean for the run, in the order it is to hear of it
   */
  async ask(asked: Asked): Promise<readonly RunEvent[]> {
    return this.#underWay ? [] : await this.#asking(asked, 'ask')
  }

  /**
   * As `ask`, also while they are being asked: what they answer to that may be older than what the
   * caller wants to hear of. Answers come in the order of the questions.
   */
  async askAnew(asked: Asked): Promise<readonly RunEvent[]> {
    return await this.#asking(asked, 'askAnew')
  }

  async #asking(asked: Asked, how: How): Promise<readonly RunEvent[]> {
    const asking = this.#hear(asked, how)
    this.#underWay = asking
    try {
      return await asking
    } finally {
      if (this.#underWay === asking) this.#underWay = undefined
    }
  }

  async #hear({ ledger, source, training }: Asked, how: How): Promise<readonly RunEvent[]> {
    try {
      // At once: at the end of a run its threads answer for a moment only.
      const [heard, of] = await Promise.all([
        ledger.ask.status(),
        source?.ask.status() ?? null,
        training && this.#hearTraining(training, how),
      ])
      this.#ledger = this.#counted(heard)
      this.#source = of?.of === 'rows' ? this.#rows.note(of, this.#ledger.spooled.samples) : of
      this.#speeds.note(this.#source, this.#ledger, this.#clock.now())
      const told = training && (this.training ?? 'unheard')
      const hasLearnt = this.#hasLearnt
      return judge({ ledger: this.#ledger, source: of, training: told, hasLearnt })
    } catch (error) {
      // An actor is away for a moment; the supervisor knows.
      if (!isFailure(error, 'unavailable')) throw error
      return []
    }
  }

  /**
   * A trainer answers between two batches: what it said before holds until then, and nobody is kept
   * from hearing of the others.
   */
  async #hearTraining(asked: NonNullable<Asked['training']>, how: How): Promise<void> {
    const { trainer, checkpointer, loader } = asked
    // Nobody waits for it: what it holds ready is only shown.
    void this.#loader.ask(() => loader.ask.status())
    const heard = Promise.all([
      this.#trainer[how](async () => {
        const told = await trainer.ask.status()
        this.#hasLearnt ||= told.last !== null
        return told
      }),
      this.#checkpointer[how](() => checkpointer.ask.status()),
    ])
    const enough = new AbortController()
    const late = sleep(patienceMs, this.#clock, enough.signal).catch(() => undefined)
    await Promise.race([heard, late]).finally(() => enough.abort())
  }

  #counted(ledger: LedgerStatus): LedgerStatus {
    this.#spooled.note(ledger.spooled)
    this.#stored.note(ledger.stored)
    return { ...ledger, spooled: this.#spooled.all, stored: this.#stored.all }
  }
}
