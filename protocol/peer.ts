import { type Clock, systemClock } from '../src/clock.ts'
import { Connection, clientOf, PeerEnded } from './channel.ts'
import type { Client, Contract } from './contract.ts'
import type { Port } from './port.ts'

/**
 * Until one that is away is back. Its supervisor has deadlines for that, and rejects what waits
 * where it gives up; to start may take an hour, where a full disk is looked through.
 */
const returnMs = 24 * 60 * 60_000

/**
 * Another actor, as the one that asks it sees it through all its restarts. Calls are sent in the
 * order they were made; those made while it is away wait for its return, within their own deadline.
 * Nothing is sent twice unless the caller says so, with `again`.
 */
export class Peer<C extends Contract> {
  readonly name: string
  /** One function a request. Rejects with PeerEnded when the peer's thread ends first. */
  readonly ask: Client<C>
  readonly #contract: C
  readonly #clock: Clock
  #link: Connection | undefined
  #closed = false
  /** Calls that wait for a port, oldest first. */
  readonly #queue = new Set<Waiting>()
  /** Who waits for a newer port than the one that ended. */
  readonly #returns = new Set<() => void>()

  constructor(name: string, contract: C, options: { readonly clock?: Clock } = {}) {
    this.name = name
    this.#contract = contract
    this.#clock = options.clock ?? systemClock
    this.ask = clientOf(contract, (request, ask) => this.#call(request, ask))
  }

  /** A newer port takes the place of an older one, whose answers are dropped; never the reverse. */
  attach(port: Port, generation: number): void {
    if (this.#closed || generation <= this.#generation) {
      port.close()
      return
    }
    const old = this.#link
    const link = new Connection(port, { peer: this.name, generation, clock: this.#clock })
    this.#link = link
    old?.close()
    for (const waiting of [...this.#queue]) waiting.send(link)
    for (const returned of [...this.#returns]) returned()
  }

  /**
   * Makes a call, and makes it again after each restart of the peer, once a restart, until it
   * settles. For requests whose handler is idempotent. What the ask transfers, `call` must build.
   *
   * @param withinMs  for all tries together; then the last PeerEnded is thrown
   */
  async again<T>(
    call: (ask: Client<C>) => Promise<T>,
    { withinMs = returnMs }: { readonly withinMs?: number } = {},
  ): Promise<T> {
    const until = this.#clock.now() + withinMs
    for (;;) {
      try {
        return await call(this.ask)
      } catch (error) {
        if (!(error instanceof PeerEnded) || error.peer !== this.name) throw error
        await this.#newerThan(error, until - this.#clock.now())
      }
    }
  }

  /** It will not come back: what waits for it is rejected, now and later. */
  close(): void {
    this.#closed = true
    this.#link?.close()
    for (const waiting of [...this.#queue]) waiting.lose()
    for (const returned of [...this.#returns]) returned()
  }

  get #generation(): number {
    return this.#link?.generation ?? 0
  }

  #call(request: string, ask: unknown): Promise<unknown> {
    const withinMs = this.#contract[request]!.withinMs
    if (this.#link?.open) return this.#link.call(request, ask, withinMs)
    if (this.#closed) return Promise.reject(this.#away(request, 0))
    return this.#wait(request, ask, withinMs)
  }

  #wait(request: string, ask: unknown, withinMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const since = this.#clock.now()
      const leave = () => {
        this.#clock.clearTimeout(timer)
        this.#queue.delete(waiting)
        return this.#clock.now() - since
      }
      const waiting: Waiting = {
        send: (link) => resolve(link.call(request, ask, withinMs - leave())),
        lose: () => reject(this.#away(request, leave())),
      }
      const timer = this.#clock.setTimeout(waiting.lose, withinMs)
      this.#queue.add(waiting)
    })
  }

  /** Settles when a newer port than that which ended is there; rejects with `error` otherwise. */
  #newerThan(error: PeerEnded, withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const newer = this.#generation > error.generation
        if (newer) leave(resolve)
        else if (this.#closed) leave(() => reject(error))
      }
      const leave = (how: () => void) => {
        this.#clock.clearTimeout(timer)
        this.#returns.delete(look)
        how()
      }
      const timer = this.#clock.setTimeout(() => leave(() => reject(error)), withinMs)
      this.#returns.add(look)
      look()
    })
  }

  #away(request: string, waitedMs: number): PeerEnded {
    const asked = `actor=${this.name}, request=${request}, waited=${waitedMs} ms`
    const options = { peer: this.name, generation: this.#generation }
    return new PeerEnded(`the actor is not there. ${asked}`, options)
  }
}

interface Waiting {
  send(link: Connection): void
  lose(): void
}
