import { isMainThread, workerData } from 'node:worker_threads'
import { type Clock, every, systemClock } from '../src/clock.ts'
import type { LiveKey, LiveSettings } from '../src/config/live-settings.ts'
import { Failure } from '../src/failure.ts'
import { type Log, type LogTarget, openLog } from '../src/log.ts'
import { Gate } from '../src/session/gate.ts'
import { dieOf, serveBy } from './channel.ts'
import type { Contract, Handlers } from './contract.ts'
import { type Birth, controlContract, type Wire } from './control.ts'
import { deferred } from './deferred.ts'
import { Heeded } from './heeded.ts'
import { Peer } from './peer.ts'
import type { Port } from './port.ts'
import { Pulse } from './pulse.ts'

/** What every actor has: its name, its log, its signs of life, its peers, its own end. */

/** One port through which another asks; a restart of the asker makes another Asker. */
export interface Asker {
  readonly id: string
  readonly generation: number
}

/** What an actor does when its supervisor asks. */
export interface Life {
  /** Take no new work, finish what is held. Called once; the thread ends after it. */
  readonly drain: () => Promise<void>
  /** For `status`; called at each heartbeat, so cheap. */
  readonly status?: () => { readonly work: string }
}

export interface Actor<Input> {
  readonly id: string
  readonly generation: number
  readonly input: Input
  readonly log: Log
  readonly pulse: Pulse
  /** To be entered around every native call: the thread is never ended inside. */
  readonly gate: Gate
  /** One that the child's spec `asks`. Its calls wait until the supervisor has wired it. */
  peer<C extends Contract>(id: string, contract: C): Peer<C>
  /**
   * Answers whoever asks: each asker has handlers of its own. `closed` tells that its port has
   * ended; always before the handlers of the same actor's next port are made.
   */
  serve<C extends Contract>(
    contract: C,
    handlersFor: (asker: Asker) => Handlers<C>,
    options?: { readonly closed?: (asker: Asker) => void },
  ): void
  /** Ends this actor by an error that no caller is there to hear of. */
  die(error: unknown): void
  /** Calls `heed` with what this setting was changed to, if it was, and at each change. */
  heeds<K extends LiveKey>(key: K, heed: (value: LiveSettings[K]) => void): void
  /** The last line of a worker: tells the supervisor that this actor is ready. */
  live(life: Life): void
}

/** What carries an actor, as the actor sees it. */
export interface Host {
  readonly clock: Clock
  /** How often it tells what it is at; absent: as often as that it lives. */
  readonly tellMs?: number
  openLog(target: LogTarget & { readonly actor: string }): Log
  /** Ends it as an actor that was told to leave. */
  exit(): void
  /** Ends it by this error. */
  die(error: unknown): void
}

const thread: Host = {
  clock: systemClock,
  tellMs: 500,
  openLog: (target) => {
    const log = openLog(target)
    // The exception itself goes on to end the thread; its line is written before that.
    process.on('uncaughtExceptionMonitor', (error) => log.fatal({ err: error }, 'the actor dies'))
    return log
  },
  exit: () => void setImmediate(() => process.exit(0)),
  die: dieOf,
}

/**
 * Makes this thread an actor. The first line of a worker's entry; what is thrown there before
 * `live`, or anywhere later, ends the thread with code 1 and reaches its supervisor.
 */
export function actor<Input>(): Actor<Input> {
  if (isMainThread) {
    throw new Failure('invalid', 'an actor is started by its supervisor, not by hand', {
      remedy: 'Run `draftsmith --help` for the commands.',
    })
  }
  return embody<Input>(workerData, thread)
}

/** The same of whatever carries it. */
export function embody<Input>(birth: Birth<Input>, host: Host): Actor<Input> {
  const { id, generation, input } = birth
  const { clock, die } = host
  const log = host.openLog({ ...birth.log, actor: id })
  const pulse = new Pulse(birth.pulse)
  const peers = new Peers(clock)
  const askers = new Askers()
  const heeded = new Heeded()
  const life = deferred<Life>()
  let drained: Promise<void> | undefined

  const handlers: Handlers<typeof controlContract> = {
    ready: async () => void (await life.promise),
    wire: (wire) => peers.wire(wire),
    serve: (wire) => askers.add(wire),
    unwire: (id) => peers.lose(id),
    change: (changed) => heeded.change(changed),
    drain: async () => {
      const { drain } = await life.promise
      drained ??= drain()
      await drained
    },
    exit: () => host.exit(),
  }
  serveBy(birth.control, { contract: controlContract, handlers, die })

  heeded.heed('log.level', (level) => {
    log.level = level
  })

  return {
    id,
    generation,
    input,
    log,
    pulse,
    die,
    gate: new Gate(pulse.gateWord),
    peer: (to, contract) => peers.peer(to, contract),
    serve: (contract, handlersFor, { closed = () => undefined } = {}) =>
      askers.answer({
        serve: (asker, port) => serveBy(port, { contract, handlers: handlersFor(asker), die }),
        closed,
      }),
    heeds: (key, heed) => heeded.heed(key, heed),
    live: (how) => {
      const beat = () => pulse.beat(how.status?.().work ?? '')
      beat()
      every(Math.min(birth.beatMs, host.tellMs ?? birth.beatMs), clock, beat)
      life.resolve(how)
    },
  }
}

interface Wirable {
  attach(port: Port, generation: number): void
  close(): void
}

/** Those this actor asks. A port may come before the actor names its peer, or after. */
class Peers {
  readonly #peers = new Map<string, Wirable>()
  readonly #early = new Map<string, Wire>()
  readonly #lost = new Set<string>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  peer<C extends Contract>(id: string, contract: C): Peer<C> {
    if (this.#peers.has(id)) throw new Error(`the peer was named twice. peer=${id}`)
    const peer = new Peer(id, contract, { clock: this.#clock })
    this.#peers.set(id, peer)
    const wire = this.#early.get(id)
    if (wire) peer.attach(wire.port, wire.generation)
    this.#early.delete(id)
    if (this.#lost.has(id)) peer.close()
    return peer
  }

  wire(wire: Wire): void {
    const peer = this.#peers.get(wire.actor)
    if (peer) peer.attach(wire.port, wire.generation)
    else this.#early.set(wire.actor, wire)
  }

  /** It will not come back. */
  lose(id: string): void {
    this.#lost.add(id)
    this.#peers.get(id)?.close()
  }
}

interface Answering {
  serve(asker: Asker, port: Port): void
  closed(asker: Asker): void
}

/** Those who ask this actor. A port may come before the actor serves, or after. */
class Askers {
  #answering: Answering | undefined
  readonly #early: Wire[] = []
  /** How to end an asker's port, by the asker's id. */
  readonly #open = new Map<string, () => void>()

  answer(answering: Answering): void {
    if (this.#answering) throw new Error('an actor serves one contract')
    this.#answering = answering
    for (const wire of this.#early.splice(0)) this.#serve(wire, answering)
  }

  add(wire: Wire): void {
    if (this.#answering) this.#serve(wire, this.#answering)
    else this.#early.push(wire)
  }

  #serve({ actor: id, generation, port }: Wire, answering: Answering): void {
    // The asker has restarted, and its old port's `close` may come after its new port.
    this.#open.get(id)?.()
    const asker = { id, generation }
    const close = () => {
      if (this.#open.get(id) !== close) return
      this.#open.delete(id)
      port.close()
      answering.closed(asker)
    }
    this.#open.set(id, close)
    port.on('close', close)
    answering.serve(asker, port)
  }
}
