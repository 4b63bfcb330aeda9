/**
 * Checks that what a message's metadata points to lies within it. apache-arrow's decoder trusts the
 * counts it finds: a damaged one would have it build millions of objects before anyone noticed.
 *
 * @source Arrow's format/Message.fbs and Schema.fbs for slots, FlatBuffers' internals for the rest
 */

/** What a table's slots hold, as far as a count in them could be wrong. */
interface Shape {
  /** Slot → bytes an element. */
  readonly vectors?: Readonly<Record<number, number>>
  readonly tables?: Readonly<Record<number, Shape>>
  readonly tableVectors?: Readonly<Record<number, Shape>>
}

const keyValue: Shape = { vectors: { 0: 1, 1: 1 } }

const field: Shape = {
  vectors: { 0: 1 },
  // A getter, because a field's children are fields.
  get tableVectors() {
    return { 5: field, 6: keyValue }
  },
}

const schema: Shape = { tableVectors: { 1: field, 2: keyValue }, vectors: { 3: 8 } }
const recordBatch: Shape = { vectors: { 1: 16, 2: 16, 4: 8 }, tables: { 3: {} } }
const dictionaryBatch: Shape = { tables: { 1: recordBatch } }

/** By MessageHeader. */
const headers: Readonly<Partial<Record<number, Shape>>> = {
  1: schema,
  2: dictionaryBatch,
  3: recordBatch,
}

/** @throws Error that says what points outside; DataView's RangeError where a read itself does */
export function checkMetadataBounds(metadata: Uint8Array<ArrayBuffer>): void {
  const walk = new Walk(metadata)
  const root = walk.u32(0)
  const typeAt = walk.slot(root, 1)
  const shape = typeAt === 0 ? undefined : headers[metadata[typeAt]]
  walk.check(root, {
    tableVectors: { 4: keyValue },
    ...(shape && { tables: { 2: shape } }),
  })
}

class Walk {
  readonly #view: DataView
  /** A table takes at least its four bytes: more visits mean that tables point to one another. */
  #visitsLeft: number

  constructor(metadata: Uint8Array<ArrayBuffer>) {
    this.#view = new DataView(metadata.buffer, metadata.byteOffset, metadata.byteLength)
    this.#visitsLeft = metadata.byteLength / 4
  }

  u32(at: number): number {
    return this.#view.getUint32(at, true)
  }

  /** Where the slot's value lies; 0 where the table does not have it. */
  slot(table: number, index: number): number {
    const vtable = table - this.#view.getInt32(table, true)
    const entry = 4 + 2 * index
    if (entry >= this.#view.getUint16(vtable, true)) return 0
    const offset = this.#view.getUint16(vtable + entry, true)
    return offset === 0 ? 0 : table + offset
  }

  check(table: number, shape: Shape): void {
    if (this.#visitsLeft-- <= 0) throw new Error('tables point to one another')
    for (const [index, bytes] of Object.entries(shape.vectors ?? {})) {
      this.#vector(table, Number(index), bytes)
    }
    for (const [index, inner] of Object.entries(shape.tables ?? {})) {
      const at = this.slot(table, Number(index))
      if (at !== 0) this.check(at + this.u32(at), inner)
    }
    for (const [index, inner] of Object.entries(shape.tableVectors ?? {})) {
      const { at, count } = this.#vector(table, Number(index), 4)
      for (let i = 0; i < count; i++) {
        const element = at + 4 * i
        this.check(element + this.u32(element), inner)
      }
    }
  }

  #vector(table: number, index: number, elementBytes: number): { at: number; count: number } {
    const slot = this.slot(table, index)
    if (slot === 0) return { at: 0, count: 0 }
    const start = slot + this.u32(slot)
    const count = this.u32(start)
    const room = this.#view.byteLength - start - 4
    if (count * elementBytes > room) {
      throw new Error(
        `a vector leaves the message. want=${count * elementBytes} bytes, found=${room}`,
      )
    }
    return { at: start + 4, count }
  }
}
