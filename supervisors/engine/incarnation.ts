import { connect, PeerEnded } from '../../protocol/channel.ts'
import type { ChildSpec, Death } from '../../protocol/child.ts'
import type { Client } from '../../protocol/contract.ts'
import { controlContract } from '../../protocol/control.ts'
import { deferred } from '../../protocol/deferred.ts'
import { reviveFailure } from '../../protocol/packed-error.ts'
import type { PulseReading } from '../../protocol/pulse.ts'
import { within } from '../../src/clock.ts'
import { explain, type Failure, isFailure } from '../../src/failure.ts'
import { NotStarted } from '../refused-start.ts'
import { born } from './unborn.ts'
import type { End, Start, Vessel, Vessels } from './vessel.ts'
import { Watch } from './watch.ts'

/** From the word to leave to the end; it has nothing left to do. */
const leaveMs = 1_000
const lookMsMax = 1_000
/** From the end of its port to its own, which tells why: longer than any vessel takes to tell. */
const lingersMs = 15_000

export interface IncarnationOptions extends Omit<Start, 'onEnd' | 'spec'> {
  readonly spec: ChildSpec
  readonly vessels: Vessels
  /** Called once, when it is gone. */
  readonly onEnd: (death: Death) => void
  /** It is to be ended, and is waited for: it is inside native code. */
  readonly onWait: (wait: Wait) => void
  /** It is inside native code and stays there: it cannot be ended. Its end may never come. */
  readonly onWedged: (death: Death) => void
}

/** For one that is inside native code. */
export interface Wait {
  /** What it had announced. */
  readonly work: string
  readonly patienceMs: number
}

type Order = Pick<Death, 'cause' | 'reason' | 'failure'>

/** One start of an actor, to its end: owns its deadlines, and says why it ended. */
export class Incarnation {
  readonly control: Client<typeof controlContract>
  readonly #options: IncarnationOptions
  readonly #vessel: Vessel
  readonly #watch: Watch
  readonly #lookMs: number
  readonly #ended = deferred<'ended'>()
  #state: 'starting' | 'ready' | 'gone' = 'starting'
  #order: Order | undefined
  #looking: unknown
  /** Settles when one whose port has closed is gone, or wedged. */
  #outlived: Promise<void> | undefined

  constructor(options: IncarnationOptions) {
    const { clock, generation, log, spec, vessels } = options
    const { heartbeatMs } = spec
    this.#options = options
    this.#lookMs = Math.min(lookMsMax, heartbeatMs / 4)
    this.#watch = new Watch({ heartbeatMs, lookMs: this.#lookMs })
    const onEnd = (end: End) => this.#gone(end)
    const start = { spec, generation, clock, log, onEnd }
    this.#vessel = born(vessels, spec.isolation ?? 'thread', start)
    this.control = connect(this.#vessel.control, controlContract, { peer: spec.id, clock })
    // Nobody hears of one that lives on, though its heart may beat.
    this.#vessel.control.on('close', () => void this.#outlive())
  }

  /** True once the actor says so; false where it ends first, or its time passes and it is ended. */
  async ready(): Promise<boolean> {
    const { readyMs } = this.#options.spec
    try {
      await this.#wordThatItIsReady()
    } catch (error) {
      if (!isFailure(error)) throw error
      if (error instanceof PeerEnded) await this.#outlive()
      else await this.end(late(readyMs), 0)
      return false
    }
    if (this.#state !== 'starting') return false
    this.#state = 'ready'
    this.#look(this.#options.clock.now())
    return true
  }

  /** A long start that shows life has all its time again. */
  async #wordThatItIsReady(): Promise<void> {
    const { id, readyMs } = this.#options.spec
    const ready = this.control.ready()
    for (;;) {
      const { beats } = this.#vessel.reading()
      try {
        return await within(readyMs, `${id}.ready`, ready, this.#options.clock)
      } catch (error) {
        if (error instanceof PeerEnded || this.#vessel.reading().beats === beats) throw error
      }
    }
  }

  /** @throws Failure: it could not finish within its time, or ended first */
  async drain(): Promise<void> {
    const { id, drainMs } = this.#options.spec
    try {
      await within(drainMs, `${id}.drain`, this.control.drain(), this.#options.clock)
    } catch (error) {
      if (error instanceof PeerEnded) await this.#outlive()
      throw error
    }
  }

  /** Lets it leave by itself, and ends it where it does not. */
  async leave(order: Order, { hurried }: { readonly hurried: boolean }): Promise<void> {
    const { clock, spec } = this.#options
    this.#order ??= order
    try {
      if (!hurried) {
        await within(leaveMs, `${spec.id}.exit`, this.control.exit(), clock)
        await within(leaveMs, `the end of ${spec.id}`, this.#ended.promise, clock)
      }
    } catch (error) {
      if (!isFailure(error)) throw error
    }
    await this.end(order, leaveMs)
  }

  /**
   * Ends it as soon as it is outside native code. Settles when it is gone, or when it stays
   * inside: that has then been told.
   *
   * @param patienceMs  for it to come outside
   */
  async end(order: Order, patienceMs = this.#patienceMs()): Promise<void> {
    if (this.#state === 'gone') return
    this.#order ??= order
    const ending = this.#vessel.end(patienceMs)
    if (patienceMs > 0 && this.#vessel.isInside) {
      this.#options.onWait({ work: this.#vessel.reading().busy?.work ?? '', patienceMs })
    }
    const how = await Promise.race([this.#ended.promise, ending])
    if (how === false) return this.#options.onWedged(this.#death({ ...order, cause: 'deadline' }))
    await this.#ended.promise
  }

  get pid(): number | null {
    return this.#vessel.pid
  }

  reading(): PulseReading & { readonly silentMs: number } {
    return { ...this.#vessel.reading(), silentMs: this.#watch.silentMs }
  }

  /** Its port closes before its end is told, and only that tells why; it is not waited for long. */
  #outlive(): Promise<void> {
    this.#outlived ??= this.#endWhereItLingers()
    return this.#outlived
  }

  async #endWhereItLingers(): Promise<void> {
    const { clock, spec } = this.#options
    try {
      await within(lingersMs, `the end of ${spec.id}`, this.#ended.promise, clock)
    } catch (error) {
      if (!isFailure(error)) throw error
      const cause = this.#state === 'starting' ? 'start' : 'crash'
      await this.end({ cause, reason: 'its port has closed, and it lived on' }, 0)
    }
  }

  #patienceMs(): number {
    const { heartbeatMs } = this.#options.spec
    return Math.max(this.#watch.leftMs(this.#vessel.reading()), heartbeatMs)
  }

  #look(lastLook: number): void {
    const { clock } = this.#options
    this.#looking = clock.setTimeout(() => {
      const now = clock.now()
      const late = this.#watch.look(this.#vessel.reading(), now - lastLook)
      if (late === undefined) this.#look(now)
      else void this.end({ cause: 'deadline', reason: late }, 0)
    }, this.#lookMs)
  }

  #gone(end: End): void {
    const wasReady = this.#state === 'ready'
    this.#state = 'gone'
    this.#options.clock.clearTimeout(this.#looking)
    this.#options.onEnd(this.#death(this.#order ?? ownEnd(end, wasReady), end.error))
    this.#ended.resolve('ended')
  }

  #death(order: Order, error?: unknown): Death {
    const failure: Failure | undefined = reviveFailure(error) ?? order.failure
    return { child: this.#options.spec.id, ...order, ...(failure === undefined ? {} : { failure }) }
  }
}

/** It may pass, as the absence that it waits for may: whoever counts starts is told so. */
function late(readyMs: number): Order {
  const failure = new NotStarted('unavailable', `not ready in time. readyMs=${readyMs}`, {
    remedy: 'See what it waits for in the log: the store, or a disk or device that is slow.',
  })
  return { cause: 'start', reason: failure.message, failure }
}

/** It ended by itself. */
function ownEnd(end: End, wasReady: boolean): Order {
  const reason = end.error === undefined ? ending(end) : explain(end.error)
  if (!wasReady) return { cause: 'start', reason }
  return { cause: end.error === undefined && end.code === 0 ? 'clean' : 'crash', reason }
}

function ending({ code, signal }: End): string {
  if (signal === null) return `exit code ${code}`
  const perhaps = signal === 'SIGKILL' ? ', as where memory runs out' : ''
  return `ended by ${signal}${perhaps}`
}
