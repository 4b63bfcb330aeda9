import type { Death, SupervisorSpec } from '../../protocol/child.ts'
import type { Ended, Restarted } from '../../protocol/console.ts'
import { type Deferred, deferred } from '../../protocol/deferred.ts'
import { explain, Failure } from '../../src/failure.ts'
import { Child, type Reports } from './child.ts'
import { type Body, type BodyStatus, type Engine, type Fate, Member } from './member.ts'
import { restartedWith } from './strategy.ts'

/**
 * Starts its children in order, watches them, restarts them by its strategy, gives up. It holds no
 * data and retries no request.
 *
 * Starts happen in rounds: who is to start, in order, each once the one before is up. A child that
 * dies in a round begins another, which takes over all of the first that is not up yet. So each
 * child that is down is claimed by one round at most.
 */
export class Supervisor implements Body {
  readonly members: readonly Member[]
  /** Those that are actors, at any depth, in the order they start. */
  readonly leaves: readonly Leaf[]
  readonly #spec: SupervisorSpec
  readonly #engine: Engine
  readonly #reports: Reports
  readonly #claims = new Map<Member, Round>()
  #state: 'down' | 'up' | 'gaveUp' = 'down'
  #started: Deferred<boolean> = deferred()

  constructor(spec: SupervisorSpec, engine: Engine, reports: Reports) {
    this.#spec = spec
    this.#engine = engine
    this.#reports = reports
    const seats = spec.children.map((child) => this.#seat(child))
    this.members = seats.map(({ member }) => member)
    this.leaves = seats.flatMap(({ body, member }) =>
      body instanceof Child ? [{ child: body, member }] : body.leaves,
    )
  }

  #seat(child: SupervisorSpec['children'][number]) {
    const reports: Reports = {
      died: (death) => this.#died(member, death),
      wedged: (death) => this.#wedged(member, death),
    }
    const body =
      'children' in child
        ? new Supervisor(child, this.#engine, reports)
        : new Child(child, this.#engine, reports)
    const member = new Member(child, { body, limits: this.#spec, engine: this.#engine })
    return { body, member }
  }

  /** True once all children are up, however many restarts that took. */
  start(): Promise<boolean> {
    if (!this.#engine.mayStart()) return Promise.resolve(false)
    this.#state = 'up'
    this.#started = deferred()
    for (const member of this.members) member.renewedWithLimits()
    void this.#round(this.members)
    return this.#started.promise
  }

  async end(): Promise<void> {
    this.#down()
    for (const member of [...this.members].reverse()) await member.end()
  }

  async stop(): Promise<void> {
    this.#down()
    for (const member of [...this.members].reverse()) await member.stop()
  }

  async kill(): Promise<Ended | null> {
    if (this.#state !== 'up') return null
    await this.end()
    this.#reports.died({ child: this.#spec.id, cause: 'ordered', reason: 'killed' })
    return { pid: null, waitedFor: null }
  }

  async recycle(): Promise<void> {
    await this.kill()
  }

  /** A stop has begun: what waits for its start waits no more, what is up goes on. */
  retire(): void {
    this.#claims.clear()
    this.#started.resolve(false)
    for (const member of this.members) {
      if (member.body instanceof Supervisor) member.body.retire()
      else if (member.state === 'due' || member.state === 'crashed') member.stopped()
    }
  }

  /** Restarts a member by order, or starts one that had stopped or waits for its backoff. */
  async restart(member: Member): Promise<Restarted['did']> {
    const { state } = member
    if (state === 'running') {
      member.drains()
      await member.body.recycle()
      // Its death has begun a round, unless it does not come back by itself.
      if (member.state !== 'stopped') return 'ended'
    }
    const wasUp = state === 'running'
    if (!this.#mayStart()) return wasUp ? 'ended' : 'nothing'
    member.renewed()
    if (member.state !== 'due') return 'nothing'
    await this.#round([member])
    return wasUp ? 'ended' : 'started'
  }

  /** The member of that id, with the supervisor that holds it, at any depth. */
  find(id: string): { readonly member: Member; readonly holder: Supervisor } | undefined {
    for (const member of this.members) {
      if (member.id === id) return { member, holder: this }
      const below = member.body instanceof Supervisor ? member.body.find(id) : undefined
      if (below) return below
    }
    return undefined
  }

  status(): BodyStatus {
    const children = this.members.map((member) => member.status())
    return { busy: null, work: '', heartbeatAgeMs: null, pid: null, children }
  }

  #mayStart(): boolean {
    return this.#state === 'up' && this.#engine.mayStart()
  }

  #down(): void {
    this.#state = 'down'
    this.#claims.clear()
    this.#started.resolve(false)
  }

  #died(member: Member, death: Death): void {
    this.#engine.tell({ kind: 'died', child: member.id, death })
    const mayRestart = this.#mayStart() && member.state !== 'abandoned'
    const fate = member.judge(death, { mayRestart })
    if (fate.kind === 'stays') member.stopped()
    else if (fate.kind === 'givesUp') this.#giveUp(member, death, fate.why)
    else this.#restartAfter(member, death, fate)
  }

  #restartAfter(member: Member, death: Death, { inMs, count }: Restart): void {
    const cohort = restartedWith(this.#spec.strategy, this.members, member)
    const ids = cohort.map(({ id }) => id)
    this.#engine.tell({ kind: 'restarting', child: member.id, death, inMs, count, cohort: ids })
    member.crashed(inMs)
    void this.#round(cohort)
  }

  #wedged(member: Member, death: Death): void {
    member.abandoned()
    const hurried = this.#engine.hurried()
    this.#engine.tell({ kind: 'wedged', child: member.id, death, hurried })
    this.#reports.wedged(death)
  }

  /** Ends those of the cohort that live, waits for the backoff, starts them in order. */
  async #round(cohort: readonly Member[]): Promise<void> {
    const round: Round = { members: this.#claim(cohort) }
    for (const member of round.members) this.#claims.set(member, round)
    for (const member of [...round.members].reverse()) await member.end()
    for (const member of round.members) await member.waited()
    for (const member of round.members) {
      if (this.#claims.get(member) !== round) continue
      const up = member.state !== 'due' || (await member.start())
      if (!up && this.#claims.get(member) !== round) return
      this.#claims.delete(member)
    }
    if (this.#state === 'up' && this.#claims.size === 0) this.#started.resolve(true)
  }

  /** The cohort, and all that is not up yet of the rounds that it cuts short; in order. */
  #claim(cohort: readonly Member[]): readonly Member[] {
    const cut = new Set(cohort.map((member) => this.#claims.get(member)))
    cut.delete(undefined)
    return this.members.filter(
      (member) => cohort.includes(member) || cut.has(this.#claims.get(member)),
    )
  }

  /** The supervisor above decides by the same rule; until then its other children run on. */
  #giveUp(member: Member, death: Death, why: GivesUp['why']): void {
    this.#state = 'gaveUp'
    this.#claims.clear()
    member.abandoned()
    const { id, restarts } = this.#spec
    const facts = [`supervisor=${id}`, `child=${member.id}`]
    if (why === 'too many restarts') facts.push(`max=${restarts.max} in ${restarts.withinMs} ms`)
    // A failure tells its own reason, as the cause.
    facts.push(death.failure ? `last=${death.cause}` : `last=${death.cause}: ${death.reason}`)
    const failure = new Failure(
      death.failure?.kind ?? 'unavailable',
      `${why}. ${facts.join(', ')}`,
      { remedy: death.failure?.remedy ?? 'Read in the log what it died of.', cause: death.failure },
    )
    this.#engine.tell({ kind: 'gaveUp', supervisor: id, child: member.id, failure })
    // The supervisor above would start the same again.
    const cause = why === 'too many restarts' && death.cause !== 'start' ? 'crash' : 'start'
    this.#reports.died({ child: id, cause, reason: explain(failure), failure })
    this.#started.resolve(false)
  }
}

type Restart = Extract<Fate, { kind: 'restarts' }>
type GivesUp = Extract<Fate, { kind: 'givesUp' }>

interface Round {
  readonly members: readonly Member[]
}

export interface Leaf {
  readonly child: Child
  readonly member: Member
}
