/** Samples that are stored, can be trained on and were not admitted to the training yet. */
import { Owners } from '../dataset/owners.ts'
import { stored } from '../manifest/entry.ts'
import { missingRows } from '../manifest/missing.ts'
import type { EntryTable } from '../manifest/table.ts'
import { hashOrder, inOrder } from './hash-order.ts'
import { NumberedHashes } from './numbered-hashes.ts'
import type { OrderLog } from './order-log.ts'
import { isHeldOut } from './split.ts'
import type { TrainableRows } from './trainable-rows.ts'

/** Some samples, in the order of their hashes. */
export interface Group {
  /** 16 bytes each. */
  readonly hashes: Uint8Array
  readonly tokens: Uint32Array
}

export class Arrivals {
  readonly #table: EntryTable
  readonly #rows: TrainableRows
  readonly #log: OrderLog
  readonly #admitted: Owners
  /** By row of the table: it is admitted, or never will be. */
  #settled = new Uint8Array(1024)

  constructor(table: EntryTable, rows: TrainableRows, log: OrderLog) {
    this.#table = table
    this.#rows = rows
    this.#log = log
    this.#admitted = Owners.of(log.samples.hashes())
  }

  /** Those that came first, so many at most. */
  waiting(max: number): Group {
    const found = new NumberedHashes()
    this.#makeRoom()
    for (let row = 0; row < this.#table.size && found.count < max; row++) {
      if (this.#settled[row]) continue
      const { kind, hash } = this.#look(row)
      if (kind === 'settled') this.#settled[row] = 1
      if (kind === 'arrived') found.add(hash, Uint32Array.of(this.#table.entryAt(row).tokens))
    }
    const [hashes, tokens] = [found.hashes(), found.tokens()]
    const order = hashOrder(hashes)
    return { hashes: inOrder(hashes, order), tokens: order.map((i) => tokens[i]) }
  }

  /** They are in the log now. */
  admitted({ hashes }: Group): void {
    for (let at = 0; at < hashes.length; at += 16) {
      this.#admitted.claim(hashes.subarray(at, at + 16), 0)
    }
  }

  /** Whether each sample that can be trained on has come to an end: no more will arrive. */
  get complete(): boolean {
    const { hashes, count } = this.#rows
    return this.#table.size >= count && missingRows(hashes, this.#table).length === 0
  }

  /** The table's rows stay where they are; it only grows. */
  #makeRoom(): void {
    const { size } = this.#table
    if (size <= this.#settled.length) return
    const settled = new Uint8Array(size * 2)
    settled.set(this.#settled)
    this.#settled = settled
  }

  /** `open`: it may still be stored, be it for the first time or again. */
  #look(row: number): { readonly kind: 'arrived' | 'settled' | 'open'; readonly hash: Uint8Array } {
    const hash = Buffer.from(this.#table.entryAt(row).hash, 'hex')
    const isOurs = this.#rows.has(hash) && !this.#admitted.has(hash)
    if (!isOurs || isHeldOut(this.#log.split, hash.toString('hex')))
      return { kind: 'settled', hash }
    return { kind: this.#table.statusAt(row) === stored ? 'arrived' : 'open', hash }
  }
}
