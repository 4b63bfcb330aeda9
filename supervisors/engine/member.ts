import { createActor, waitFor } from 'xstate'
import type { ChildSpec, Death, SupervisorSpec } from '../../protocol/child.ts'
import type { ActorStatus, Ended } from '../../protocol/console.ts'
import type { Clock, Random } from '../../src/clock.ts'
import type { ChangedSettings } from '../../src/config/live-settings.ts'
import type { LogTarget } from '../../src/log.ts'
import { Delays } from './backoff.ts'
import type { TreeEvent } from './events.ts'
import { childMachine } from './machine.ts'
import { RestartWindow } from './restarts.ts'
import type { Vessels } from './vessel.ts'
import type { Wiring } from './wiring.ts'

/** One child of a supervisor, whatever it is: its state, its restarts, what its deaths mean. */

/** What all of a tree share. */
export interface Engine {
  readonly clock: Clock
  readonly random: Random
  readonly log: LogTarget
  readonly vessels: Vessels
  readonly wiring: Wiring
  /** False once a stop has begun: nothing is started after that. */
  mayStart(): boolean
  /** What was changed since the tree was made: each start is told. */
  changed(): ChangedSettings
  /** A stop must not wait for what is still held. */
  hurried(): boolean
  tell(event: TreeEvent): void
}

/** An actor, or a supervisor with all that is below it. */
export interface Body {
  /** True once it is up. False: it is not, and its death has been told by then. */
  start(): Promise<boolean>
  /** Ends it at once, to start again or not. Its death is not told. */
  end(): Promise<void>
  /** As `end`, once it has drained: actors leave by themselves. */
  stop(): Promise<void>
  /** By order: its death is told as `ordered`. Null where it is not up. */
  kill(): Promise<Ended | null>
  /** As `kill`, once it has finished what it holds. */
  recycle(): Promise<void>
  status(): BodyStatus
}

/** What a body says of itself, in the status of its member. */
export type BodyStatus = Pick<ActorStatus, 'busy' | 'work' | 'heartbeatAgeMs' | 'pid' | 'children'>

export type ChildState =
  | 'due'
  | 'starting'
  | 'running'
  | 'draining'
  | 'crashed'
  | 'stopped'
  | 'abandoned'

/** What its supervisor does about a death. */
export type Fate =
  | { readonly kind: 'restarts'; readonly inMs: number; readonly count: number }
  | { readonly kind: 'stays' }
  | { readonly kind: 'givesUp'; readonly why: 'cannot start' | 'too many restarts' }

export class Member {
  readonly id: string
  readonly body: Body
  readonly #policy: Pick<ChildSpec, 'restart' | 'blame'>
  readonly #limits: Pick<SupervisorSpec, 'restarts' | 'backoff'>
  readonly #engine: Engine
  readonly #machine
  #window: RestartWindow
  #delays: Delays
  #since: number
  #generation = 0
  #restarts = 0
  #lastCause: string | null = null

  /** @param limits  of its supervisor, which hold for each child */
  constructor(
    spec: ChildSpec | SupervisorSpec,
    options: { readonly body: Body; readonly limits: SupervisorSpec; readonly engine: Engine },
  ) {
    this.id = spec.id
    this.body = options.body
    this.#policy = 'children' in spec ? { restart: 'always' } : spec
    this.#limits = options.limits
    this.#engine = options.engine
    this.#window = this.#newWindow()
    this.#delays = this.#newDelays()
    this.#since = options.engine.clock.now()
    this.#machine = createActor(childMachine, { clock: options.engine.clock })
    let state: ChildState = 'due'
    this.#machine.subscribe(({ value }) => {
      if (value === state) return
      state = value
      this.#since = this.#engine.clock.now()
    })
    this.#machine.start()
  }

  get state(): ChildState {
    return this.#machine.getSnapshot().value
  }

  /** True once it is up; false where it died instead, which has been told by then. */
  async start(): Promise<boolean> {
    const generation = ++this.#generation
    this.#machine.send({ type: 'start' })
    if (!(await this.body.start())) return false
    this.#machine.send({ type: 'ready' })
    this.#engine.tell({ kind: 'started', child: this.id, generation })
    return true
  }

  async end(): Promise<void> {
    await this.body.end()
    this.#machine.send({ type: 'ended' })
  }

  async stop(): Promise<void> {
    await this.body.stop()
    this.stopped()
  }

  drains(): void {
    this.#machine.send({ type: 'drain' })
  }

  crashed(delayMs: number): void {
    this.#machine.send({ type: 'crashed', delayMs })
  }

  stopped(): void {
    this.#machine.send({ type: 'stopped' })
  }

  abandoned(): void {
    this.#machine.send({ type: 'abandoned' })
  }

  /** It may start again, whatever became of it. */
  renewed(): void {
    this.#machine.send({ type: 'renewed' })
  }

  /** As new: what it needed before is forgotten. */
  renewedWithLimits(): void {
    this.#window = this.#newWindow()
    this.#delays = this.#newDelays()
    this.renewed()
  }

  /** Settles when its backoff has passed. */
  async waited(): Promise<void> {
    await waitFor(this.#machine, ({ value }) => value !== 'crashed')
  }

  /** Called once for each death, before the machine hears of it. */
  judge(death: Death, { mayRestart }: { readonly mayRestart: boolean }): Fate {
    const { restart, blame } = this.#policy
    const now = this.#engine.clock.now()
    const ranMs = this.state === 'running' || this.state === 'draining' ? now - this.#since : 0
    this.#lastCause = `${death.cause}: ${death.reason}`
    const finished = restart === 'on-failure' && death.cause === 'clean'
    if (!mayRestart || restart === 'never' || finished) return { kind: 'stays' }
    const charged = (blame?.(death) ?? 'child') === 'child'
    if (death.cause === 'ordered') return this.#restarting(0)
    if (cannotStart(death)) return { kind: 'givesUp', why: 'cannot start' }
    if (charged && !this.#window.charge()) return { kind: 'givesUp', why: 'too many restarts' }
    return this.#restarting(this.#delays.next(ranMs))
  }

  status(): ActorStatus {
    const { id, state } = this
    const forMs = this.#engine.clock.now() - this.#since
    const own = { id, state, since: this.#since, forMs }
    const past = { restarts: this.#restarts, lastCause: this.#lastCause }
    return { ...own, ...past, ...this.body.status() }
  }

  #restarting(inMs: number): Fate {
    this.#restarts++
    return { kind: 'restarts', inMs, count: this.#restarts }
  }

  #newWindow(): RestartWindow {
    return new RestartWindow(this.#limits.restarts, this.#engine.clock)
  }

  #newDelays(): Delays {
    return new Delays(this.#limits.backoff, this.#engine.random)
  }
}

/** What it met at its start is for a person to change: it would meet it again. */
const cannotStart = ({ cause, failure }: Death): boolean =>
  cause === 'start' && failure !== undefined && failure.kind !== 'unavailable'
