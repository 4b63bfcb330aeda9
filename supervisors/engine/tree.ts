import { setMaxListeners } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import type { Death, SupervisorSpec } from '../../protocol/child.ts'
import type { ActorStatus, Killed, Restarted } from '../../protocol/console.ts'
import type { Contract } from '../../protocol/contract.ts'
import type { Peer } from '../../protocol/peer.ts'
import { aborted } from '../../src/aborted.ts'
import type { Clock, Random } from '../../src/clock.ts'
import type { ChangedSettings } from '../../src/config/live-settings.ts'
import { Failure } from '../../src/failure.ts'
import type { Log, LogTarget } from '../../src/log.ts'
import { type Draining, drainInOrder } from './draining.ts'
import { logEvent, type TreeEvent } from './events.ts'
import type { ChildState, Engine } from './member.ts'
import { Process } from './process.ts'
import { actorsOf, checkSpec } from './spec.ts'
import { type Leaf, Supervisor } from './supervisor.ts'
import { Thread } from './thread.ts'
import type { Vessels } from './vessel.ts'
import { Wiring } from './wiring.ts'

/** A running tree of supervisors, as the process that holds it sees it. */

export interface TreeOptions {
  readonly clock: Clock
  /** For the jitter of backoffs. */
  readonly random: Random
  /** Where the tree itself writes: each event is a line. */
  readonly log: Log
  /** Where its actors write. */
  readonly logTo: LogTarget
  /** What carries its actors: the real ones unless given. */
  readonly vessels?: Vessels
  readonly onEvent?: (event: TreeEvent) => void
  /** The root gave up. What still runs may be drained: call `stop`. */
  readonly onGaveUp: (failure: Failure) => void
  /**
   * A thread is inside native code past its deadline. It can be ended only with the process, by
   * SIGKILL: an orderly exit would end the thread first, which aborts.
   */
  readonly onWedged: (death: Death) => void
}

const realVessels: Vessels = {
  thread: (start) => new Thread(start),
  process: (start) => new Process(start),
  pair: () => new MessageChannel(),
}

export interface Tree {
  /**
   * Settles when all is up.
   * @throws Failure: the root gave up, or a stop began, before that
   */
  start(): Promise<void>
  /**
   * An actor, asked from this thread; through all its restarts, until the tree is stopped. Each
   * call makes a port that lasts as long: keep what it answers.
   */
  client<C extends Contract>(id: string, contract: C): Peer<C>
  /** Ends an actor, or all below a supervisor, as a crash would. It starts again, not charged. */
  kill(id: string): Promise<Killed | null>
  /** Lets it finish what it holds, then starts it again; also one that had stopped. */
  restart(id: string): Promise<Restarted>
  /** Tells all actors, and each that starts later. */
  change(changed: ChangedSettings): void
  status(): ActorStatus
  /**
   * Drains from the source, then ends the actors in reverse. `hurry`, also of a later call, waits
   * for no drain any more, and tells what is `left`. Settles when all are gone, those aside that
   * are wedged.
   */
  stop(options?: { readonly hurry?: boolean }): Promise<void>
}

/** @throws Failure `invalid`: the spec contradicts itself */
export function supervise(spec: SupervisorSpec, options: TreeOptions): Tree {
  checkSpec(spec)
  return new RunningTree(spec, options)
}

class RunningTree implements Tree {
  readonly #options: TreeOptions
  readonly #actors: ReadonlySet<string>
  readonly #wiring: Wiring
  readonly #root: Supervisor
  readonly #id: string
  readonly #hurry = new AbortController()
  #changed: ChangedSettings = {}
  #state: ChildState = 'due'
  #since: number
  #failure: Failure | undefined
  #stopped: Promise<void> | undefined

  constructor(spec: SupervisorSpec, options: TreeOptions) {
    this.#options = options
    this.#actors = new Set(actorsOf(spec).map(({ id }) => id))
    this.#wiring = new Wiring(options.clock, (options.vessels ?? realVessels).pair)
    this.#id = spec.id
    this.#since = options.clock.now()
    // Each actor that drains listens to it.
    setMaxListeners(0, this.#hurry.signal)
    this.#root = new Supervisor(spec, this.#engine(), {
      died: (death) => this.#rootDied(death),
      wedged: options.onWedged,
    })
  }

  async start(): Promise<void> {
    this.#enter('starting')
    if (await this.#root.start()) return this.#enter('running')
    throw this.#failure ?? new Failure('unavailable', 'stopped before all was up')
  }

  client<C extends Contract>(id: string, contract: C): Peer<C> {
    if (!this.#actors.has(id)) throw this.#unknown(id)
    return this.#wiring.client(id, contract)
  }

  async kill(id: string): Promise<Killed | null> {
    const { member } = this.#find(id)
    const ended = await member.body.kill()
    return ended && { ...ended, state: member.state }
  }

  async restart(id: string): Promise<Restarted> {
    const { holder, member } = this.#find(id)
    const did = await holder.restart(member)
    return { did, state: member.state }
  }

  change(changed: ChangedSettings): void {
    this.#changed = { ...this.#changed, ...changed }
    for (const { child } of this.#root.leaves) child.change(changed)
  }

  status(): ActorStatus {
    const forMs = this.#options.clock.now() - this.#since
    const own = { id: this.#id, state: this.#state, since: this.#since, forMs }
    return { ...own, restarts: 0, lastCause: null, ...this.#root.status() }
  }

  stop({ hurry = false }: { readonly hurry?: boolean } = {}): Promise<void> {
    if (hurry) this.#hurry.abort()
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  #engine(): Engine {
    const { clock, random, logTo, vessels = realVessels } = this.#options
    return {
      clock,
      random,
      log: logTo,
      vessels,
      wiring: this.#wiring,
      mayStart: () => this.#state === 'starting' || this.#state === 'running',
      changed: () => this.#changed,
      hurried: () => this.#hurry.signal.aborted,
      tell: (event) => this.#tell(event),
    }
  }

  #tell(event: TreeEvent): void {
    logEvent(this.#options.log, event)
    this.#options.onEvent?.(event)
  }

  async #stop(): Promise<void> {
    this.#enter('draining')
    this.#root.retire()
    if (!this.#hurry.signal.aborted) this.#wiring.closeToNew()
    await drainInOrder(this.#root.leaves.map((leaf) => this.#draining(leaf)))
    await this.#root.stop()
    this.#wiring.close()
    this.#enter('stopped')
  }

  #draining({ child, member }: Leaf): Draining {
    const { id, drainsAfter } = child.spec
    const drain = async () => {
      member.drains()
      const drained = child.drain().then(() => 'drained' as const)
      const hurried = aborted(this.#hurry.signal).then(() => 'left' as const)
      if ((await Promise.race([drained, hurried])) === 'drained') return
      this.#tell({ kind: 'left', child: id, work: child.status().busy?.work ?? null })
    }
    return { id, drainsAfter, drain }
  }

  /** Only a root that gives up tells of its own death. */
  #rootDied({ failure }: Death): void {
    this.#failure = failure ?? new Failure('unavailable', 'the root gave up')
    this.#enter('abandoned')
    this.#root.retire()
    this.#options.onGaveUp(this.#failure)
  }

  #find(id: string) {
    const found = this.#root.find(id)
    if (!found) throw this.#unknown(id)
    return found
  }

  #unknown(id: string): Failure {
    const ids = [...this.#actors].join(', ')
    return new Failure('invalid', `no such actor. id=${id}`, { remedy: `There are: ${ids}.` })
  }

  #enter(state: ChildState): void {
    this.#state = state
    this.#since = this.#options.clock.now()
  }
}
