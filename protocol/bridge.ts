import type { Duplex } from 'node:stream'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { formatBytes } from '../src/config/sizes.ts'
import { Failure } from '../src/failure.ts'
import { type Deferred, deferred } from './deferred.ts'
import { packed, type Unpacked, Unpacker } from './packets.ts'

/**
 * Ports between two processes, over one stream: what is posted to a port here comes out of its
 * counterpart there, in order; a port that closes closes its counterpart, and all do with the
 * stream. A port in a message is carried on, so that who gets it need not know where it leads.
 * Neither end looks into a message.
 *
 * What the other process has not read yet waits here, in this one's memory. Who asks waits for his
 * answer, so that little does; where more does all the same, it is not sent, and that is told.
 */

type Packet =
  | { readonly to: number; readonly message: unknown }
  /** The port of this number. */
  | { readonly closed: number }

/** One write may hold up the loop no longer than this takes. */
const pieceBytes = 16 * 2 ** 20

const nothing = new Uint8Array(0)

/** The largest message that waits is not counted: a model crosses in one. */
const unreadBytesMax = 2 ** 30

export interface BridgeOptions {
  /** Another at either end: numbers given here never meet those given there. */
  readonly side: 1 | -1
  /** A port whose counterpart is the first port of the other end. */
  readonly first: MessagePort
  /** Told once, where the other process reads too slowly: nothing is carried from then on. */
  readonly onOverfull: (failure: Failure) => void
  readonly unreadBytesMax?: number
}

export class Bridge {
  readonly #stream: Duplex
  readonly #ports = new Map<number, MessagePort>()
  readonly #options: BridgeOptions
  #numbers = 0
  /** Of the messages that the stream has not taken whole. */
  readonly #unread = new Unread()
  #quiet: Deferred<void> = deferred()

  constructor(stream: Duplex, options: BridgeOptions) {
    this.#stream = stream
    this.#options = options
    const unpacker = new Unpacker((number) => this.#arrived(number))
    stream.on('data', (bytes: Uint8Array) => {
      for (const whole of unpacker.take(bytes)) this.#received(whole)
    })
    // What is wrong with it is that the other process has gone: its end follows.
    stream.on('error', () => undefined)
    stream.on('close', () => this.#lost())
    this.#carry(0, options.first)
  }

  /** What waits for the other process to read it. */
  get unreadBytes(): number {
    return this.#unread.bytes
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
    const max = this.#options.unreadBytesMax ?? unreadBytesMax
    if (this.#unread.bytes - this.#unread.largest > max) {
      this.#overfull(this.#unread.bytes, max)
      return
    }
    const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
    this.#unread.add(bytes)
    this.#stream.cork()
    for (const part of parts) {
      for (let from = 0; from < part.byteLength; from += pieceBytes) {
        this.#stream.write(part.subarray(from, from + pieceBytes))
      }
    }
    // After all of the above, in the order of the messages.
    this.#stream.write(nothing, () => this.#unread.remove(bytes))
    this.#stream.uncork()
  }

  #overfull(unread: number, max: number): void {
    const facts = `want=${formatBytes(max)} at most, found=${formatBytes(unread)}`
    this.#stream.destroy()
    this.#options.onOverfull(
      new Failure('unavailable', `a process reads too slowly what it is sent. ${facts}`, {
        remedy: 'It starts again. Where that comes again and again, give it more of the processor.',
      }),
    )
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
    const number = this.#options.side * ++this.#numbers
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

/** The bytes of messages that are on their way, however many these are. */
class Unread {
  #bytes = 0
  /** Of one message, since nothing was on its way. */
  #largest = 0

  get bytes(): number {
    return this.#bytes
  }

  get largest(): number {
    return this.#largest
  }

  add(bytes: number): void {
    this.#bytes += bytes
    this.#largest = Math.max(this.#largest, bytes)
  }

  remove(bytes: number): void {
    this.#bytes -= bytes
    if (this.#bytes === 0) this.#largest = 0
  }
}
