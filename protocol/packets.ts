import { DefaultSerializer, Deserializer } from 'node:v8'
import { MessagePort } from 'node:worker_threads'

/**
 * Messages as bytes, for two processes of one machine: a structured clone, as between threads. What
 * is large in it, the contents of its views, stands apart and is copied once at either end.
 *
 *     packet:  bytes of the head, uint32 | head | contents of its views, in their order
 *
 * In the head a view is its kind and its bytes; a port is the number it is called by.
 */

const kinds: readonly (new (buffer: ArrayBuffer) => ArrayBufferView)[] = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
]
/** In the place of a view's kind. */
const isPort = kinds.length

const lengthBytes = Uint32Array.BYTES_PER_ELEMENT

class Writer extends DefaultSerializer {
  readonly contents: Uint8Array[] = []
  readonly #numberOf: (port: MessagePort) => number

  constructor(numberOf: (port: MessagePort) => number) {
    super()
    this.#numberOf = numberOf
  }

  /** Called by Node for what has no form of its own. */
  _writeHostObject(object: unknown): void {
    if (object instanceof MessagePort) {
      this.writeUint32(isPort)
      this.writeDouble(this.#numberOf(object))
      return
    }
    const kind = kinds.findIndex((one) => object instanceof one)
    if (kind < 0 || !ArrayBuffer.isView(object)) throw new TypeError(`no such message: ${object}`)
    this.writeUint32(kind)
    this.writeDouble(object.byteLength)
    this.contents.push(new Uint8Array(object.buffer, object.byteOffset, object.byteLength))
  }
}

class Reader extends Deserializer {
  readonly contents: Uint8Array<ArrayBuffer>[] = []
  readonly ports: MessagePort[] = []
  readonly #open: (number: number) => MessagePort

  constructor(head: Uint8Array, open: (number: number) => MessagePort) {
    super(head)
    this.#open = open
  }

  /** Called by Node for what the above wrote. */
  _readHostObject(): object {
    const kind = this.readUint32()
    if (kind === isPort) return this.#port(this.readDouble())
    const Kind = kinds[kind]
    if (!Kind) throw new TypeError(`no such kind in a message. kind=${kind}`)
    const buffer = new ArrayBuffer(this.readDouble())
    this.contents.push(new Uint8Array(buffer))
    return new Kind(buffer)
  }

  #port(number: number): MessagePort {
    const port = this.#open(number)
    this.ports.push(port)
    return port
  }
}

/** @param numberOf  what a port is called by at the other end */
export function packed(
  value: unknown,
  numberOf: (port: MessagePort) => number,
): readonly Uint8Array[] {
  const writer = new Writer(numberOf)
  writer.writeHeader()
  writer.writeValue(value)
  const head = writer.releaseBuffer()
  const length = new Uint8Array(lengthBytes)
  new DataView(length.buffer).setUint32(0, head.byteLength)
  return [length, head, ...writer.contents]
}

/** A packet that has come whole. */
export interface Unpacked {
  readonly value: unknown
  /** What the value may be sent on with: its buffers and its ports. */
  readonly given: readonly (ArrayBuffer | MessagePort)[]
}

/** Puts a stream of bytes together into what was packed. */
export class Unpacker {
  readonly #open: (number: number) => MessagePort
  readonly #filling: Generator<Uint8Array, never, void>
  #whole: Unpacked[] = []
  #next: Uint8Array
  #filled = 0

  /** @param open  the port that is called by a number, at its first mention */
  constructor(open: (number: number) => MessagePort) {
    this.#open = open
    this.#filling = this.#fill()
    this.#next = this.#filling.next().value
  }

  /** @returns  what is whole with these bytes */
  take(bytes: Uint8Array): readonly Unpacked[] {
    for (let from = 0; from < bytes.byteLength; ) {
      const part = bytes.subarray(from, from + this.#next.byteLength - this.#filled)
      this.#next.set(part, this.#filled)
      this.#filled += part.byteLength
      from += part.byteLength
      if (this.#filled === this.#next.byteLength) this.#advance()
    }
    const whole = this.#whole
    this.#whole = []
    return whole
  }

  #advance(): void {
    this.#filled = 0
    this.#next = this.#filling.next().value
  }

  /** Gives what is to be filled next, one after another; none of them is empty. */
  *#fill(): Generator<Uint8Array, never, void> {
    const length = new Uint8Array(lengthBytes)
    for (;;) {
      yield length
      const head = new Uint8Array(new DataView(length.buffer).getUint32(0))
      yield head
      const reader = new Reader(head, this.#open)
      reader.readHeader()
      const value: unknown = reader.readValue()
      for (const content of reader.contents) if (content.byteLength > 0) yield content
      const buffers = reader.contents.map(({ buffer }) => buffer)
      this.#whole.push({ value, given: [...buffers, ...reader.ports] })
    }
  }
}
