import { MessagePort } from 'node:worker_threads'
import type { Port } from '../../protocol/port.ts'
import type { Life } from './world.ts'

/** Pairs of ports over a simulated line: messages keep their order, and take their time. */

const latencyMaxMs = 2

/** What an open end holds on to. A closed one holds nothing: comlink keeps ports for long. */
interface Line {
  holder: Life
  readonly other: SimulatedPort
  arrivesNext: number
  listener: ((message: unknown) => void) | undefined
  readonly waiting: Sent[]
  readonly onClose: (() => void)[]
}

/** A message on its way, and the ports that go with it. */
interface Sent {
  readonly message: unknown
  readonly ports: readonly SimulatedPort[]
}

/** One end. Who holds it hears of it only while it lives; one that dies closes it. */
export class SimulatedPort implements Port {
  #line: Line | undefined

  /** Joins two ends, both of which this life holds. */
  static join(holder: Life, port: SimulatedPort, other: SimulatedPort): void {
    port.#line = { holder, other, arrivesNext: 0, listener: undefined, waiting: [], onClose: [] }
    port.#watch(holder)
  }

  /** It has come with a message. */
  heldBy(holder: Life): void {
    if (!this.#line) return
    this.#line.holder = holder
    if (holder.alive) this.#watch(holder)
    else this.close()
  }

  postMessage(message: unknown): void {
    const ports: SimulatedPort[] = []
    const sent = { message: copied(message, ports), ports }
    const line = this.#line
    if (line) send(line, () => line.other.#receive(sent))
    else lost(sent)
  }

  on(event: 'message' | 'close', listener: (message: unknown) => void): void {
    const line = this.#line
    if (!line) return
    if (event === 'close') {
      line.onClose.push(listener as () => void)
      return
    }
    line.listener = listener
    for (const { message } of line.waiting.splice(0)) {
      line.holder.world.plan(0, line.holder, () => listener(message))
    }
  }

  close(): void {
    const line = this.#line
    if (!line) return
    this.#line = undefined
    for (const sent of line.waiting) lost(sent)
    send(line, () => line.other.#closed())
  }

  #receive(sent: Sent): void {
    const line = this.#line
    if (!line?.holder.alive) {
      lost(sent)
      return
    }
    const { holder, listener, waiting } = line
    for (const port of sent.ports) port.heldBy(holder)
    if (listener) holder.world.as(holder, () => listener(sent.message))
    else waiting.push(sent)
  }

  #closed(): void {
    const line = this.#line
    if (!line) return
    this.#line = undefined
    const { holder, onClose } = line
    if (!holder.alive) return
    holder.world.as(holder, () => {
      for (const told of onClose) told()
    })
  }

  #watch(holder: Life): void {
    holder.onEnd(() => {
      if (this.#line?.holder === holder) this.close()
    })
  }
}

/** In the order of sending. */
function send(line: Line, arrives: () => void): void {
  const { world } = line.holder
  const at = Math.max(line.arrivesNext, world.now + world.draw() * latencyMaxMs)
  line.arrivesNext = at
  world.plan(at - world.now, null, arrives)
}

export function portPair(holder: Life): {
  readonly port1: SimulatedPort
  readonly port2: SimulatedPort
} {
  const port1 = new SimulatedPort()
  const port2 = new SimulatedPort()
  SimulatedPort.join(holder, port1, port2)
  SimulatedPort.join(holder, port2, port1)
  return { port1, port2 }
}

/** Of a message that nobody gets: the ports in it are lost too. */
function lost({ ports }: Sent): void {
  for (const port of ports) port.close()
}

/** A structured clone that knows simulated ports, which are moved: they are put into `ports`. */
function copied(value: unknown, ports: SimulatedPort[]): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return structuredClone(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof SimulatedPort) {
    ports.push(value)
    return value
  }
  if (Array.isArray(value)) return value.map((item) => copied(item, ports))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return copiedRecord(value, ports)
  if (value instanceof SharedArrayBuffer || value instanceof MessagePort) return value
  if (value instanceof Map) {
    return new Map([...value].map(([key, item]) => [copied(key, ports), copied(item, ports)]))
  }
  if (value instanceof Uint8Array) return new Uint8Array(value)
  return structuredClone(value)
}

function copiedRecord(record: object, ports: SimulatedPort[]): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  // Its own alone: a plain object inherits nothing that could be listed.
  for (const key in record) copy[key] = copied(record[key as keyof typeof record], ports)
  return copy
}
