import { PeerEnded, transfer } from '../../protocol/channel.ts'
import type { ChildSpec } from '../../protocol/child.ts'
import type { Client, Contract } from '../../protocol/contract.ts'
import type { controlContract, Wire } from '../../protocol/control.ts'
import { Peer } from '../../protocol/peer.ts'
import type { Port } from '../../protocol/port.ts'
import type { Clock } from '../../src/clock.ts'
import type { Vessels } from './vessel.ts'

type Control = Client<typeof controlContract>

/**
 * Who holds whose port. An edge is made when whoever asks has started and whoever answers is ready:
 * until then calls wait with the one that asks, who would take an answer that is late for a fault.
 * Both get a port of a new channel, with a generation that no earlier one had; the ports of a
 * thread that ended close by themselves.
 */
export class Wiring {
  readonly #clock: Clock
  readonly #pair: Vessels['pair']
  readonly #present = new Map<string, { readonly spec: ChildSpec; readonly control: Control }>()
  /** Those of them that are ready. */
  readonly #answering = new Map<string, Control>()
  /** Those on this thread who ask an actor. */
  readonly #clients: { readonly of: string; readonly as: string; attach: Attach; close(): void }[] =
    []
  #generation = 0
  #mayJoin = true

  constructor(clock: Clock, pair: Vessels['pair']) {
    this.#clock = clock
    this.#pair = pair
  }

  /** A thread has started: it may ask all that are ready. */
  join(spec: ChildSpec, control: Control): void {
    this.#present.set(spec.id, { spec, control })
    for (const id of spec.asks) {
      const asked = this.#answering.get(id)
      if (asked) this.#link(spec.id, wire(control.wire), id, asked)
    }
  }

  /** It is ready, where it has not ended since: all that ask it may. */
  ready(id: string): void {
    const asked = this.#present.get(id)
    if (!asked) return
    this.#answering.set(id, asked.control)
    for (const { spec, control } of this.#present.values()) {
      if (spec.asks.includes(id)) this.#link(spec.id, wire(control.wire), id, asked.control)
    }
    for (const client of this.#clients) {
      if (client.of === id) this.#link(client.as, client.attach, id, asked.control)
    }
  }

  part(id: string): void {
    this.#present.delete(id)
    this.#answering.delete(id)
    if (!this.#mayJoin) this.#lose(id)
  }

  /**
   * No thread starts any more: whoever drains, and asks one that is gone, would wait for its return
   * for as long as the request may take.
   */
  closeToNew(): void {
    this.#mayJoin = false
    const asked = [...this.#present.values()].flatMap(({ spec }) => spec.asks)
    for (const id of new Set([...asked, ...this.#clients.map(({ of }) => of)])) {
      if (!this.#present.has(id)) this.#lose(id)
    }
  }

  /** This thread asks an actor, through all its restarts. */
  client<C extends Contract>(id: string, contract: C): Peer<C> {
    const peer = new Peer(id, contract, { clock: this.#clock })
    const client = {
      of: id,
      as: `main/${this.#clients.length}`,
      attach: (_: string, generation: number, port: Port) => peer.attach(port, generation),
      close: () => peer.close(),
    }
    this.#clients.push(client)
    const asked = this.#answering.get(id)
    if (asked) this.#link(client.as, client.attach, id, asked)
    return peer
  }

  /** Nothing will start any more: what this thread still asks is rejected. */
  close(): void {
    for (const client of this.#clients) client.close()
  }

  #lose(id: string): void {
    for (const { spec, control } of this.#present.values()) {
      if (spec.asks.includes(id)) told(control.unwire(id))
    }
    for (const client of this.#clients) if (client.of === id) client.close()
  }

  #link(asker: string, attach: Attach, asked: string, askedControl: Control): void {
    const { port1, port2 } = this.#pair()
    const generation = ++this.#generation
    wire(askedControl.serve)(asker, generation, port2)
    attach(asked, generation, port1)
  }
}

/** Hands one end of an edge over: the port, and the name of the actor at its other end. */
type Attach = (actor: string, generation: number, port: Port) => void

const wire =
  (tell: (wire: Wire) => Promise<void>): Attach =>
  (actor, generation, port) => {
    told(tell(transfer({ actor, generation, port }, [port])))
  }

/** One that ended before it heard needs it no more: its next start makes new edges. */
function told(telling: Promise<void>): void {
  telling.catch((error: unknown) => {
    if (!(error instanceof PeerEnded)) throw error
  })
}
