import { expose, transfer as give, type Remote, wrap } from 'comlink'
import { type Clock, systemClock } from '../src/clock.ts'
import { explain, Failure } from '../src/failure.ts'
import { compact, wholly } from './compact.ts'
import type { Client, Contract, Handlers } from './contract.ts'
import { type PackedError, packError, unpackError } from './packed-error.ts'
import type { Given, Port } from './port.ts'

/**
 * Requests over a port. Comlink carries them; this file adds what it lacks: every call settles, a
 * Failure stays one, a small view stays small. Nothing else posts a message; `bridge.ts` hands them
 * on to another process.
 */

/** The peer's thread has ended, or was not there in time. Handlers are idempotent: ask it again. */
export class PeerEnded extends Failure {
  readonly peer: string
  /** Of the port that ended; 0 where there never was one. */
  readonly generation: number

  constructor(
    message: string,
    options: { readonly peer: string; readonly generation: number; readonly cause?: unknown },
  ) {
    super('unavailable', message, options.cause === undefined ? {} : { cause: options.cause })
    this.peer = options.peer
    this.generation = options.generation
  }
}

/** `bug`: the handler threw what is no Failure; its thread ends by it. */
type Envelope =
  | { readonly kind: 'answer'; readonly value: unknown }
  | { readonly kind: 'failure'; readonly error: PackedError }
  | { readonly kind: 'bug'; readonly error: PackedError }

interface Served {
  answer(request: string, ask: unknown): Promise<Envelope>
}

const givenWith = new WeakMap<object, readonly Given[]>()

/**
 * Marks what an ask or an answer gives away instead of copying: ports, and buffers that its views
 * show whole. A call that is sent again after a restart must build its ask anew.
 */
export function transfer<T extends object>(value: T, items: readonly Given[]): T {
  givenWith.set(value, items)
  return value
}

const givenBy = (value: unknown): readonly Given[] =>
  (typeof value === 'object' && value !== null && givenWith.get(value)) || []

/** For comlink to send. Most messages give nothing away, and need no note of it. */
const giving = <T>(value: T, items: readonly Given[]): T =>
  items.length === 0 ? value : give(value, [...items])

/** What comlink talks through. `unsendable` hears of a message that holds what cannot be cloned. */
function endpoint(port: Port, unsendable: (error: unknown) => void = () => undefined) {
  return {
    postMessage(message: unknown, offered: readonly Given[] = []) {
      const given = wholly(message, offered)
      try {
        port.postMessage(compact(message, new Set(given)), given)
      } catch (error) {
        unsendable(error)
        throw error
      }
    },
    addEventListener(_: string, listener: (event: { readonly data: unknown }) => void) {
      port.on('message', (data) => listener({ data }))
    },
    // Comlink removes its listener only after a RELEASE, when the port is closed anyway.
    removeEventListener() {
      port.close()
    },
  }
}

/**
 * Answers a contract's requests on a port, for as long as both threads live. What a handler throws
 * reaches the asker; what is no Failure also ends this thread, for its supervisor to see.
 */
export function serve<C extends Contract>(port: Port, contract: C, handlers: Handlers<C>): void {
  serveBy(port, { contract, handlers, die: dieOf })
}

/** @param answering  `die` ends whoever answers; called when its asker has been told */
export function serveBy<C extends Contract>(
  port: Port,
  answering: {
    readonly contract: C
    readonly handlers: Handlers<C>
    readonly die: (error: unknown) => void
  },
): void {
  const { contract, handlers, die } = answering
  const table = new Map<string, (ask: never) => unknown>(
    Object.keys(contract).map((request) => [request, handlers[request as keyof C]]),
  )
  const answer = async (request: string, ask: never): Promise<Envelope> => {
    try {
      const value = await table.get(request)?.(ask)
      return giving({ kind: 'answer', value }, givenBy(value))
    } catch (error) {
      if (error instanceof Failure) return { kind: 'failure', error: packError(error) }
      die(error)
      return { kind: 'bug', error: packError(error) }
    }
  }
  // In an Error of its own: of a DOMException that ends a thread, the supervisor is told nothing.
  const unsendable = (error: unknown) => die(new Error(`no answer can be sent: ${explain(error)}`))
  expose({ answer }, endpoint(port, unsendable))
}

/** Ends this thread. Not at once: whoever asked is told first. */
export function dieOf(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}

/** One port to a peer, as long as it lasts. */
export class Connection {
  readonly peer: string
  readonly generation: number
  readonly #clock: Clock
  readonly #port: Port
  /**
   * Held, and not asked of comlink's proxy at each call, which would make one more each time. Let
   * go at the end: comlink holds the port for as long as its proxy is held, the port this object.
   */
  #answer: Remote<Served>['answer'] | undefined
  /** How to reject each call that has no answer yet. */
  readonly #inFlight = new Set<(cause?: unknown) => void>()

  constructor(
    port: Port,
    options: { readonly peer: string; readonly generation: number; readonly clock: Clock },
  ) {
    this.peer = options.peer
    this.generation = options.generation
    this.#clock = options.clock
    this.#port = port
    this.#answer = wrap<Served>(endpoint(port)).answer
    // The listener also keeps this object, and so comlink's proxy, from being collected while a
    // call is in flight: a collected proxy closes its port.
    port.on('close', () => this.#end())
  }

  get open(): boolean {
    return this.#answer !== undefined
  }

  /** @throws PeerEnded; Failure `unavailable` after `withinMs`; what Failure the handler threw */
  call(request: string, ask: unknown, withinMs: number): Promise<unknown> {
    const answer = this.#answer
    if (!answer) return Promise.reject(this.#ended(request))
    return new Promise((resolve, reject) => {
      const lose = (cause?: unknown) => settle(() => reject(this.#ended(request, cause)))
      const settle = (how: () => void) => {
        this.#clock.clearTimeout(timer)
        this.#inFlight.delete(lose)
        how()
      }
      const timer = this.#clock.setTimeout(
        () => settle(() => reject(this.#late(request, withinMs))),
        withinMs,
      )
      this.#inFlight.add(lose)
      answer(request, giving(ask, givenBy(ask))).then(
        (envelope) => {
          if (envelope.kind === 'answer') settle(() => resolve(envelope.value))
          else if (envelope.kind === 'bug') lose(unpackError(envelope.error))
          else settle(() => reject(unpackError(envelope.error)))
        },
        // An ask that cannot be cloned is the asker's bug. What else comlink rejects with is an
        // answer that could not be: the peer's bug, of which it dies.
        (error: unknown) =>
          error instanceof DOMException ? settle(() => reject(error)) : lose(error),
      )
    })
  }

  /** Rejects what is in flight; later calls too. */
  close(): void {
    this.#port.close()
    this.#end()
  }

  #end(): void {
    this.#answer = undefined
    for (const lose of [...this.#inFlight]) lose()
  }

  #ended(request: string, cause?: unknown): PeerEnded {
    const { peer, generation } = this
    const message = `the actor ended before it answered. actor=${peer}, request=${request}`
    return new PeerEnded(message, { peer, generation, cause })
  }

  #late(request: string, withinMs: number): Failure {
    const asked = `actor=${this.peer}, request=${request}, waited=${withinMs} ms`
    return new Failure('unavailable', `no answer in time. ${asked}`)
  }
}

/** A contract's functions, each of which ends in `call`. */
export function clientOf<C extends Contract>(
  contract: C,
  call: (request: string, ask: unknown) => Promise<unknown>,
): Client<C> {
  const functions = Object.keys(contract).map(
    (request) => [request, (ask: unknown) => call(request, ask)] as const,
  )
  // The contract is the proof: its keys are the requests, its types say what each takes and gives.
  return Object.fromEntries(functions) as unknown as Client<C>
}

/** The asking end of a port whose other end serves the same contract. */
export function connect<C extends Contract>(
  port: Port,
  contract: C,
  options: { readonly peer: string; readonly clock?: Clock },
): Client<C> {
  const { peer, clock = systemClock } = options
  const connection = new Connection(port, { peer, generation: 0, clock })
  return clientOf(contract, (request, ask) =>
    connection.call(request, ask, contract[request]!.withinMs),
  )
}
