import type { Duplex } from 'node:stream'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { type Deferred, deferred } from './deferred.ts'
import { packed, type Unpacked, Unpacker } from './packets.ts'

/**
 * Ports between two processes, over one stream: what is posted to a port here comes out of its
 * counterpart there, in order; a port that closes closes its counterpart, and all do with the
 * stream. A port in a message is carried on, so that who gets it need not know where it leads.
 * Neither end looks into a message.
 */

type Packet =
  | { readonly to: number; readonly message: unknown }
  /** The port of this number. */
  | { readonly closed: number }

/** One write may hold up the loop no longer than this takes. */
const pieceBytes = 16 * 2 ** 20

export class Bridge {
  readonly #stream: Duplex
  readonly #side: 1 | -1
  readonly #ports = new Map<number, MessagePort>()
  #numbers = 0
  #quiet: Deferred<void> = deferred()

  /**
   * @param side   another at either end: numbers given here never meet those given there
   * @param first  a port whose counterpart is the first port of the other end
   */
  constructor(stream: Duplex, { side, first }: { side: 1 | -1; first: MessagePort }) {
    this.#stream = stream
    this.#side = side
    const unpacker = new Unpacker((number) => this.#arrived(number))
    stream.on('data', (bytes: Uint8Array) => {
      for (const whole of unpacker.take(bytes)) this.#received(whole)
    })
    // What is wrong with it is that the other process has gone: its end follows.
    stream.on('error', () => undefined)
    stream.on('close', () => this.#lost())
    this.#carry(0, first)
  }

  /** Settles when every port has closed and all that they were given is on its way. */
  async closed(): Promise<void> {
    await this.#quiet.promise
    await new Promise<void>((resolve) => this.#stream.end(resolve))
  }

  #carry(number: number, port: MessagePort): void {
    this.#ports.set(number, port)
    port.on('message', (message: unknown) => this.#send({ to: number, message }))
    port.on('close', () => {
      if (this.#ports.delete(number)) this.#send({ closed: number })
      if (this.#ports.size === 0) this.#quiet.resolve()
    })
  }

  #send(packet: Packet): void {
    if (!this.#stream.writable) return
    const parts = packed(packet, (port) => this.#numbered(port))
    this.#stream.cork()
    for (const part of parts) {
      for (let from = 0; from < part.byteLength; from += pieceBytes) {
        this.#stream.write(part.subarray(from, from + pieceBytes))
      }
    }
    this.#stream.uncork()
  }

  #received({ value, given }: Unpacked): void {
    // Only the other end of this class writes to the stream.
    const packet = value as Packet
    if ('closed' in packet) this.#close(packet.closed)
    else {
      const port = this.#ports.get(packet.to)
      if (port) port.postMessage(packet.message, given)
      // Nobody gets what it held: the ports among it lead nowhere.
      else for (const item of given) if ('close' in item) item.close()
    }
  }

  /** A port goes over to the other end. */
  #numbered(port: MessagePort): number {
    const number = this.#side * ++this.#numbers
    this.#carry(number, port)
    return number
  }

  /** The counterpart of one that the other end has sent. */
  #arrived(number: number): MessagePort {
    const { port1, port2 } = new MessageChannel()
    this.#carry(number, port1)
    return port2
  }

  #close(number: number): void {
    const port = this.#ports.get(number)
    this.#ports.delete(number)
    port?.close()
  }

  #lost(): void {
    for (const number of [...this.#ports.keys()]) this.#close(number)
    this.#quiet.resolve()
  }
}
