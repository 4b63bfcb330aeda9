import { MessageChannel, Worker } from 'node:worker_threads'
import { connect, PeerEnded } from '../../protocol/channel.ts'
import type { ChildSpec, Death } from '../../protocol/child.ts'
import type { Client } from '../../protocol/contract.ts'
import { type Birth, controlContract } from '../../protocol/control.ts'
import { deferred } from '../../protocol/deferred.ts'
import { reviveFailure } from '../../protocol/packed-error.ts'
import { Pulse, type PulseReading } from '../../protocol/pulse.ts'
import { type Clock, within } from '../../src/clock.ts'
import { explain, type Failure, isFailure } from '../../src/failure.ts'
import type { LogTarget } from '../../src/log.ts'
import { Gate } from '../../src/session/gate.ts'
import { Watch } from './watch.ts'

/** From the word to leave to the end of the thread; it has nothing left to do. */
const leaveMs = 1_000
const lookMsMax = 1_000

export interface ThreadOptions {
  readonly generation: number
  readonly clock: Clock
  readonly log: LogTarget
  /** Called once, when the thread is gone. */
  readonly onEnd: (death: Death) => void
  /** It is inside native code and stays there: it cannot be ended. Its end may never come. */
  readonly onWedged: (death: Death) => void
}

type Order = Pick<Death, 'cause' | 'reason'>

/** One Worker, from its start to its end: owns its deadlines, and when it may be terminated. */
export class Thread {
  readonly control: Client<typeof controlContract>
  readonly #spec: ChildSpec
  readonly #options: ThreadOptions
  readonly #worker: Worker
  readonly #pulse = new Pulse()
  readonly #gate = new Gate(this.#pulse.gateWord)
  readonly #watch: Watch
  readonly #lookMs: number
  readonly #ended = deferred<'ended'>()
  #state: 'starting' | 'ready' | 'gone' = 'starting'
  #order: Order | undefined
  #error: unknown
  #looking: unknown

  constructor(spec: ChildSpec, options: ThreadOptions) {
    const { heartbeatMs } = spec
    this.#spec = spec
    this.#options = options
    this.#lookMs = Math.min(lookMsMax, heartbeatMs / 4)
    this.#watch = new Watch({ heartbeatMs, lookMs: this.#lookMs })
    const { port1, port2 } = new MessageChannel()
    this.control = connect(port1, controlContract, { peer: spec.id, clock: options.clock })
    const birth: Birth<unknown> = {
      id: spec.id,
      generation: options.generation,
      input: spec.input,
      control: port2,
      pulse: this.#pulse.memory,
      beatMs: heartbeatMs / 4,
      log: options.log,
    }
    this.#worker = new Worker(spec.entry, {
      name: spec.id,
      workerData: birth,
      transferList: [port2],
    })
    this.#worker.on('error', (error) => {
      this.#error = error
    })
    this.#worker.on('exit', (code) => this.#exited(code))
  }

  /** True once the actor says so; false where it ends first, or its time passes and it is ended. */
  async ready(): Promise<boolean> {
    const { readyMs } = this.#spec
    try {
      await this.#wordThatItIsReady()
    } catch (error) {
      if (!isFailure(error)) throw error
      // Its port closes before its exit is told, and only that tells why.
      if (error instanceof PeerEnded) await this.#ended.promise
      else await this.end({ cause: 'start', reason: `not ready in time. readyMs=${readyMs}` }, 0)
      return false
    }
    if (this.#state !== 'starting') return false
    this.#state = 'ready'
    this.#look(this.#options.clock.now())
    return true
  }

  /** A long start that shows life has all its time again. */
  async #wordThatItIsReady(): Promise<void> {
    const { id, readyMs } = this.#spec
    const ready = this.control.ready()
    for (;;) {
      const { beats } = this.#pulse.read()
      try {
        return await within(readyMs, `${id}.ready`, ready, this.#options.clock)
      } catch (error) {
        if (error instanceof PeerEnded || this.#pulse.read().beats === beats) throw error
      }
    }
  }

  /** @throws Failure: it could not finish within its time, or ended first */
  async drain(): Promise<void> {
    const { id, drainMs } = this.#spec
    try {
      await within(drainMs, `${id}.drain`, this.control.drain(), this.#options.clock)
    } catch (error) {
      if (error instanceof PeerEnded) await this.#ended.promise
      throw error
    }
  }

  /** Lets the thread leave by itself, and ends it where it does not. */
  async leave(order: Order, { hurried }: { readonly hurried: boolean }): Promise<void> {
    const { id } = this.#spec
    const { clock } = this.#options
    this.#order ??= order
    try {
      if (!hurried) {
        await within(leaveMs, `${id}.exit`, this.control.exit(), clock)
        await within(leaveMs, `the end of ${id}`, this.#ended.promise, clock)
      }
    } catch (error) {
      if (!isFailure(error)) throw error
    }
    await this.end(order, leaveMs)
  }

  /**
   * Ends the thread as soon as it is outside its gate. Settles when it is gone, or when it stays
   * inside: that has then been told.
   *
   * @param patienceMs  for it to come outside
   */
  async end(order: Order, patienceMs = this.#patienceMs()): Promise<void> {
    if (this.#state === 'gone') return
    this.#order ??= order
    const outside = this.#gate.close(patienceMs, this.#options.clock)
    const how = await Promise.race([this.#ended.promise, outside])
    if (how === false) return this.#options.onWedged(this.#death({ ...order, cause: 'deadline' }))
    if (how === true) await this.#worker.terminate()
    await this.#ended.promise
  }

  reading(): PulseReading & { readonly silentMs: number } {
    return { ...this.#pulse.read(), silentMs: this.#watch.silentMs }
  }

  #patienceMs(): number {
    return Math.max(this.#watch.leftMs(this.#pulse.read()), this.#spec.heartbeatMs)
  }

  #look(lastLook: number): void {
    const { clock } = this.#options
    this.#looking = clock.setTimeout(() => {
      const now = clock.now()
      const late = this.#watch.look(this.#pulse.read(), now - lastLook)
      if (late === undefined) this.#look(now)
      else void this.end({ cause: 'deadline', reason: late }, 0)
    }, this.#lookMs)
  }

  #exited(code: number): void {
    const wasReady = this.#state === 'ready'
    this.#state = 'gone'
    this.#options.clock.clearTimeout(this.#looking)
    this.#options.onEnd(this.#death(this.#order ?? this.#ownEnd(code, wasReady)))
    this.#ended.resolve('ended')
  }

  /** The thread ended by itself. */
  #ownEnd(code: number, wasReady: boolean): Order {
    const reason = this.#error === undefined ? `exit code ${code}` : explain(this.#error)
    if (!wasReady) return { cause: 'start', reason }
    return { cause: this.#error === undefined && code === 0 ? 'clean' : 'crash', reason }
  }

  #death(order: Order): Death {
    const failure: Failure | undefined = reviveFailure(this.#error)
    return { child: this.#spec.id, ...order, ...(failure === undefined ? {} : { failure }) }
  }
}
