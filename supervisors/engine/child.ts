import { PeerEnded } from '../../protocol/channel.ts'
import type { ChildSpec, Death } from '../../protocol/child.ts'
import type { Ended } from '../../protocol/console.ts'
import type { ChangedSettings } from '../../src/config/live-settings.ts'
import { Failure, isFailure } from '../../src/failure.ts'
import { Incarnation } from './incarnation.ts'
import type { Body, BodyStatus, Engine } from './member.ts'

/** What a body tells the supervisor above it. */
export interface Reports {
  died(death: Death): void
  /** It cannot be ended. */
  wedged(death: Death): void
}

/** One actor through all its starts: one at a time. */
export class Child implements Body {
  readonly spec: ChildSpec
  readonly #engine: Engine
  readonly #reports: Reports
  #current: Incarnation | undefined
  #up = false
  /** It has been up, and has not come to its own end since. */
  #mayHold = false
  /** The native work that an end has waited for, of this start. */
  #waitedFor: string | null = null
  #generation = 0
  /** Whoever ends it waits for this: no death is told. */
  #ending: Promise<void> | undefined

  constructor(spec: ChildSpec, engine: Engine, reports: Reports) {
    this.spec = spec
    this.#engine = engine
    this.#reports = reports
  }

  async start(): Promise<boolean> {
    if (!this.#engine.mayStart()) return false
    const { clock, log, vessels, wiring } = this.#engine
    const current = new Incarnation({
      spec: this.spec,
      generation: ++this.#generation,
      clock,
      log,
      vessels,
      onEnd: (death) => this.#gone(death),
      onWait: ({ work, patienceMs }) => {
        this.#waitedFor = work
        this.#engine.tell({ kind: 'awaited', child: this.spec.id, work, patienceMs })
      },
      onWedged: (death) => this.#reports.wedged(death),
    })
    this.#current = current
    this.#waitedFor = null
    wiring.join(this.spec, current.control)
    this.change(this.#engine.changed())
    this.#up = await current.ready()
    if (!this.#up) return false
    this.#mayHold = true
    wiring.ready(this.spec.id)
    return true
  }

  /** One that ended before it heard is told at its next start. */
  change(changed: ChangedSettings): void {
    if (Object.keys(changed).length === 0) return
    this.#current?.control.change(changed).catch((error: unknown) => {
      if (!(error instanceof PeerEnded)) throw error
    })
  }

  end(): Promise<void> {
    return this.#endBy((current) => current.end({ cause: 'ordered', reason: 'ended for others' }))
  }

  stop(): Promise<void> {
    const order = { cause: 'ordered', reason: 'stopped' } as const
    return this.#endBy((current) => current.leave(order, { hurried: this.#engine.hurried() }))
  }

  async kill(): Promise<Ended | null> {
    const current = this.#current
    if (!current) return null
    await current.end({ cause: 'ordered', reason: 'killed' })
    return { pid: current.pid, waitedFor: this.#waitedFor }
  }

  async recycle(): Promise<void> {
    const current = this.#current
    await this.drain()
    await current?.end({ cause: 'ordered', reason: 'restarted' })
  }

  /** Settles when it holds nothing more, or its time is over: what it holds is then left. */
  async drain(): Promise<void> {
    const child = this.spec.id
    if (!this.#current || !this.#up) return this.#drainAway()
    try {
      await this.#current.drain()
      this.#engine.tell({ kind: 'drained', child })
    } catch (error) {
      if (!isFailure(error)) throw error
      // The tree has told that it is left.
      if (this.#engine.hurried()) return
      this.#engine.tell({ kind: 'undrained', child, error })
    }
  }

  /** What it held when it was up last is as it left it; of one that never was nothing is held. */
  #drainAway(): void {
    if (!this.#mayHold || this.#engine.hurried()) return
    const child = this.spec.id
    const error = new Failure('unavailable', `it was away when it was to drain. actor=${child}`)
    this.#engine.tell({ kind: 'undrained', child, error })
  }

  status(): BodyStatus {
    const reading = this.#up ? this.#current?.reading() : undefined
    return {
      busy: reading?.busy ?? null,
      work: reading?.work ?? '',
      heartbeatAgeMs: reading?.silentMs ?? null,
      pid: this.#current?.pid ?? null,
      children: [],
    }
  }

  async #endBy(how: (current: Incarnation) => Promise<void>): Promise<void> {
    if (!this.#current) return
    this.#ending ??= how(this.#current)
    await this.#ending
  }

  #gone(death: Death): void {
    this.#engine.wiring.part(this.spec.id)
    this.#current = undefined
    this.#up = false
    if (death.cause === 'clean' && this.spec.restart !== 'always') this.#mayHold = false
    const awaited = this.#ending !== undefined
    this.#ending = undefined
    if (awaited) this.#engine.tell({ kind: 'ended', child: this.spec.id, death })
    else this.#reports.died(death)
  }
}
