import { MessagePort } from 'node:worker_threads'
import type { Given, Port } from '../../protocol/port.ts'
import type { Life, World } from './world.ts'

/** Pairs of ports over a simulated line: messages keep their order, and take their time. */

const latencyMaxMs = 2

/** One end. Who holds it hears of it only while it lives; one that dies closes it. */
export class SimulatedPort implements Port {
  readonly #world: World
  #holder: Life
  other: SimulatedPort | undefined
  #state: 'open' | 'closed' = 'open'
  #arrivesNext = 0
  #listener: ((message: unknown) => void) | undefined
  readonly #waiting: unknown[] = []
  readonly #onClose: (() => void)[] = []

  constructor(holder: Life) {
    this.#world = holder.world
    this.#holder = holder
    this.#watch(holder)
  }

  /** It has come with a message. */
  heldBy(holder: Life): void {
    this.#holder = holder
    if (holder.alive) this.#watch(holder)
    else this.close()
  }

  postMessage(message: unknown, given: readonly Given[] = []): void {
    const copy = copied(message, new Set<unknown>(given))
    const { other } = this
    if (this.#state === 'closed' || !other) dropped(copy)
    else this.#send(() => other.#receive(copy))
  }

  on(event: 'message' | 'close', listener: (message: unknown) => void): void {
    if (event === 'close') {
      this.#onClose.push(listener as () => void)
      return
    }
    this.#listener = listener
    for (const message of this.#waiting.splice(0)) {
      this.#world.plan(0, this.#holder, () => listener(message))
    }
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    for (const message of this.#waiting.splice(0)) dropped(message)
    const { other } = this
    if (other) this.#send(() => other.#closed())
  }

  /** In the order of sending. */
  #send(arrives: () => void): void {
    const world = this.#world
    const at = Math.max(this.#arrivesNext, world.now + world.draw() * latencyMaxMs)
    this.#arrivesNext = at
    world.plan(at - world.now, null, arrives)
  }

  #receive(message: unknown): void {
    if (this.#state === 'closed' || !this.#holder.alive) {
      dropped(message)
      return
    }
    for (const port of portsIn(message)) port.heldBy(this.#holder)
    const listener = this.#listener
    if (!listener) this.#waiting.push(message)
    else this.#asHolder(() => listener(message))
  }

  #closed(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    if (this.#holder.alive) this.#asHolder(() => this.#tellClosed())
  }

  #tellClosed(): void {
    for (const told of this.#onClose) told()
  }

  #asHolder(work: () => void): void {
    this.#world.as(this.#holder, work)
  }

  #watch(holder: Life): void {
    holder.onEnd(() => {
      if (this.#holder === holder) this.close()
    })
  }
}

export function portPair(holder: Life): { readonly port1: Port; readonly port2: Port } {
  const port1 = new SimulatedPort(holder)
  const port2 = new SimulatedPort(holder)
  port1.other = port2
  port2.other = port1
  return { port1, port2 }
}

/** A structured clone that knows simulated ports; what is given is moved, not copied. */
function copied(value: unknown, given: ReadonlySet<unknown>): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return structuredClone(value)
  if (typeof value !== 'object' || value === null || value instanceof SimulatedPort) return value
  if (value instanceof SharedArrayBuffer || value instanceof MessagePort) return value
  if (Array.isArray(value)) return value.map((item) => copied(item, given))
  if (value instanceof Map) {
    return new Map([...value].map(([key, item]) => [copied(key, given), copied(item, given)]))
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return structuredClone(value)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copied(item, given)]))
}

function* portsIn(value: unknown): Generator<SimulatedPort> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  if (value instanceof SimulatedPort) yield value
  else if (Array.isArray(value)) for (const item of value) yield* portsIn(item)
  else if (Object.getPrototypeOf(value) === Object.prototype) {
    for (const item of Object.values(value)) yield* portsIn(item)
  }
}

/** Of a message that nobody gets: the ports in it are lost too. */
function dropped(message: unknown): void {
  for (const port of portsIn(message)) port.close()
}
