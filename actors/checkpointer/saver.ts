import { createActor } from 'xstate'
import type { CheckpointerStatus, CheckpointRef } from '../../protocol/checkpointer.ts'
import type { GaveUp } from '../../protocol/ledger.ts'
import type { Capture } from '../../protocol/trainer.ts'
import { type Clock, sleep } from '../../src/clock.ts'
import { explain, Failure, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import { probe } from '../../src/probe.ts'
import type { Checkpoints } from './checkpoints.ts'
import { checkpointerMachine } from './machine.ts'

/** The store's own retries have ended before: this is the pause between their rounds. */
const pauseMs = 5000

export interface SaverParts {
  readonly checkpoints: Pick<Checkpoints, 'prune' | 'save' | 'sweep' | 'unsoundness'>
  /** What the trainer has, unless it is what was saved already. */
  readonly capture: (saved: CheckpointRef | null) => Promise<Capture>
  readonly everyMinutes: number
  readonly deadlineMinutes: number
  readonly clock: Clock
  readonly log: Log
}

/** A save that was asked for, by however many. */
interface Asked {
  readonly promise: Promise<CheckpointRef | null>
  readonly resolve: (saved: CheckpointRef | null) => void
  readonly reject: (error: unknown) => void
}

/** When what is trained is saved: by the clock, when asked, and at the drain; one at a time. */
export class Saver {
  readonly #parts: SaverParts
  readonly #life = createActor(checkpointerMachine).start()
  readonly #drain = new AbortController()
  readonly #swept: Promise<void>
  #everyMinutes: number
  #timer: unknown
  /** Since when the next save in time is waited for. */
  #waitsSince: number
  /** Not begun yet: whoever asks meanwhile is answered by it. */
  #next: Asked | undefined
  #last: CheckpointRef | null = null
  /** When it was saved, by our clock. */
  #lastAt = 0
  #failing: { readonly since: number; readonly error: Failure } | null = null

  /** Begins at once, with what earlier starts left. */
  constructor(parts: SaverParts) {
    this.#parts = parts
    this.#everyMinutes = parts.everyMinutes
    this.#waitsSince = parts.clock.now()
    this.#swept = this.#sweep()
    this.#schedule()
  }

  /** Of the wait under way, too. */
  every(minutes: number): void {
    this.#everyMinutes = minutes
    this.#wait()
  }

  /**
   * @throws Failure `invalid`: what is trained cannot be gone on from, nor saved; else as the store
   *         threw it last, once the deadline has passed
   */
  save(): Promise<CheckpointRef | null> {
    const { value } = this.#life.getSnapshot()
    if (value === 'lost' || value === 'closed') return Promise.reject(this.#noMore())
    this.#next ??= newlyAsked()
    const { promise } = this.#next
    this.#begin()
    return promise
  }

  /** The trainer goes on from this one, or has it from here. */
  restored(from: CheckpointRef): void {
    this.#last = from
    this.#lastAt = Math.min(from.savedAt, this.#parts.clock.now())
  }

  /** Settles when what was trained until now is saved, or cannot be. */
  async drain(): Promise<void> {
    this.#drain.abort()
    this.#parts.clock.clearTimeout(this.#timer)
    try {
      await this.save()
    } catch (error) {
      if (!isFailure(error)) throw error
      this.#parts.log.error({ err: error }, 'the last steps are not saved')
    }
    await this.#swept
    this.#life.send({ type: 'close' })
  }

  status(): CheckpointerStatus {
    const { value: state } = this.#life.getSnapshot()
    const failing = this.#failing
    return {
      state,
      last: this.#last,
      lastAgeMs: this.#last && this.#parts.clock.now() - this.#lastAt,
      lastError: failing ? explain(failing.error) : null,
      failingSince: failing?.since ?? null,
      gaveUp: state === 'lost' && failing ? gaveUpFor(failing.error) : null,
    }
  }

  /** In few words: what it is at, how old what was saved last is, what went wrong. */
  get work(): string {
    const { state, last, lastAgeMs, lastError } = this.status()
    const minutes = Math.floor((lastAgeMs ?? 0) / 60_000)
    const age = last ? `, step ${last.step} saved ${minutes} min ago` : ''
    return `${state}${age}${lastError === null ? '' : `, failing: ${lastError}`}`
  }

  #begin(): void {
    if (!this.#next || !this.#life.getSnapshot().matches('idle')) return
    const asked = this.#next
    this.#next = undefined
    this.#life.send({ type: 'wanted' })
    void this.#answer(asked)
  }

  async #answer(asked: Asked): Promise<void> {
    this.#parts.clock.clearTimeout(this.#timer)
    try {
      asked.resolve(await this.#untilSaved())
    } catch (error) {
      asked.reject(error)
      // What is no Failure is a bug, which ends the thread.
      if (!isFailure(error)) throw error
      this.#next?.reject(error)
      this.#next = undefined
    }
    this.#schedule()
    this.#begin()
  }

  async #untilSaved(): Promise<CheckpointRef | null> {
    const { clock, deadlineMinutes, log } = this.#parts
    await this.#swept
    for (;;) {
      try {
        const saved = await this.#once()
        this.#failing = null
        return saved
      } catch (error) {
        if (!isFailure(error)) throw error
        this.#failing = { since: this.#failing?.since ?? clock.now(), error }
        if (this.#life.getSnapshot().matches('lost')) throw error
        this.#life.send({ type: 'failed' })
        log.warn({ err: error }, 'no checkpoint could be saved: it is tried again')
        if (clock.now() - this.#failing.since >= deadlineMinutes * 60_000) {
          this.#life.send({ type: 'late' })
          throw error
        }
        await sleep(pauseMs, clock)
        this.#life.send({ type: 'again' })
      }
    }
  }

  /** Each try captures anew: no copy of a state is held while a store is away. */
  async #once(): Promise<CheckpointRef | null> {
    const captured = await this.#captured()
    if (captured.kind !== 'state') {
      this.#life.send({ type: 'nothing' })
      return captured.kind === 'saved' ? this.#last : null
    }
    const unsound = await this.#parts.checkpoints.unsoundness(captured.state)
    if (unsound) {
      // Nobody is to train on, or wait for a last checkpoint that never comes.
      this.#life.send({ type: 'unsound' })
      throw unsound
    }
    this.#life.send({ type: 'captured' })
    probe('checkpoint.captured')
    const saved = await this.#parts.checkpoints.save(captured.state)
    this.#last = saved
    this.#lastAt = this.#parts.clock.now()
    this.#life.send({ type: 'stored' })
    await this.#tried('old checkpoints stay for now', () => {
      return this.#parts.checkpoints.prune(saved.training)
    })
    this.#life.send({ type: 'pruned' })
    return saved
  }

  /** Once drained, the trainer does not come back: what it took along is not to be had. */
  async #captured(): Promise<Capture> {
    try {
      return await this.#parts.capture(this.#last)
    } catch (error) {
      if (!isFailure(error) || !this.#drain.signal.aborted) throw error
      this.#parts.log.warn({ err: error }, 'the trainer is gone: its last steps are not saved')
      return { kind: 'none' }
    }
  }

  #sweep(): Promise<void> {
    return this.#tried('parts of unfinished checkpoints stay for now', () => {
      return this.#parts.checkpoints.sweep()
    })
  }

  /** What is put in order beside the saves never fails one. */
  async #tried(told: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isFailure(error)) throw error
      this.#parts.log.warn({ err: error }, told)
    }
  }

  #schedule(): void {
    this.#waitsSince = this.#parts.clock.now()
    this.#wait()
  }

  #wait(): void {
    if (this.#drain.signal.aborted || !this.#life.getSnapshot().matches('idle')) return
    const { clock } = this.#parts
    clock.clearTimeout(this.#timer)
    // Whoever waits for none is told by the log and the status.
    const saveInTime = () => void this.save().catch(() => undefined)
    const dueAt = this.#waitsSince + this.#everyMinutes * 60_000
    this.#timer = clock.setTimeout(saveInTime, Math.max(0, dueAt - clock.now()))
  }

  #noMore(): Failure {
    const cause = this.#failing?.error
    return new Failure('unavailable', 'no checkpoint is saved any more', {
      ...(cause !== undefined && { cause }),
      ...(cause?.remedy !== undefined && { remedy: cause.remedy }),
    })
  }
}

const gaveUpFor = (error: Failure): GaveUp => ({
  reason: `no checkpoint could be saved: ${explain(error)}`,
  remedy: error.remedy ?? null,
})

function newlyAsked(): Asked {
  let [resolve, reject]: [Asked['resolve'], Asked['reject']] = [() => undefined, () => undefined]
  const promise = new Promise<CheckpointRef | null>((settle, fail) => {
    resolve = settle
    reject = fail
  })
  // Of those who ask, some wait for nothing.
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}
