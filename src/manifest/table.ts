/**
 * The union of all that was read, in memory: found by hash, some 33 bytes an entry and an index.
 */
import { hashWords } from '../hash-words.ts'
import { Block, Texts } from './block.ts'
import {
  type EntryRows,
  hashBytes,
  lost,
  type ManifestEntry,
  quarantined,
  rowEntry,
  stored,
} from './entry.ts'
import { compareEntries } from './union.ts'

/** Rows a block; a snapshot writes each as one record batch. */
const blockBits = 16
const blockRows = 1 << blockBits
const rowMask = blockRows - 1

/**
 * Entries by content hash, one each: of two for one hash, the one that `compareEntries` prefers.
 */
export class EntryTable {
  readonly #blocks: Block[] = []
  readonly #texts = new Texts()
  #size = 0
  /** How many rows have each status, by its code. */
  readonly #counts = [0, 0, 0]
  /** Open addressing: row + 1, or 0 where free. A power of two, at most two thirds full. */
  #index = new Uint32Array(1024)

  /** Distinct samples. */
  get size(): number {
    return this.#size
  }

  get quarantined(): number {
    return this.#counts[quarantined] ?? 0
  }

  get stored(): number {
    return this.#counts[stored] ?? 0
  }

  /** Found missing or damaged, and to be computed again. */
  get lost(): number {
    return this.#counts[lost] ?? 0
  }

  /** In the order they came, `blockRows` each but for the last. */
  get blocks(): readonly EntryRows[] {
    return this.#blocks
  }

  add(entry: ManifestEntry): void {
    const block = new Block(1)
    block.push(entry)
    this.merge(block)
  }

  /** The union with other entries; rows that are there already change nothing. */
  merge(rows: EntryRows): void {
    this.reserve(this.#size + rows.count)
    for (let row = 0; row < rows.count; row++) this.#mergeRow(rows, row)
  }

  /** Room for so many, made at once instead of by doubling. */
  reserve(entries: number): void {
    let slots = this.#index.length
    while (entries * 3 > slots * 2) slots *= 2
    if (slots === this.#index.length) return
    this.#index = new Uint32Array(slots)
    for (let row = 0; row < this.#size; row++) {
      const words = this.#block(row).words
      this.#index[this.#free(words, (row & rowMask) * 4)] = row + 1
    }
  }

  has(hash: string): boolean {
    return this.find(hash) >= 0
  }

  get(hash: string): ManifestEntry | undefined {
    const row = this.find(hash)
    return row < 0 ? undefined : this.entryAt(row)
  }

  /** The row that holds the hash, or -1. */
  find(hash: string): number {
    return this.findWords(hashWords(hash), 0)
  }

  /** The row that holds the hash whose four words start at `words[at]`, or -1. */
  findWords(words: Uint32Array, at: number): number {
    return (this.#index[this.#slot(words, at)] ?? 0) - 1
  }

  /** @param row  as `findWords` gives it, from 0 to `size` */
  statusAt(row: number): number | undefined {
    return this.#block(row).statuses[row & rowMask]
  }

  entryAt(row: number): ManifestEntry {
    return rowEntry(this.#block(row), row & rowMask)
  }

  *entries(): Generator<ManifestEntry> {
    for (const block of this.#blocks) {
      for (let row = 0; row < block.count; row++) yield rowEntry(block, row)
    }
  }

  /** 16 bytes a hash, one after the other, in the order of rows. */
  hashes(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#size * 16)
    for (const [i, block] of this.#blocks.entries()) bytes.set(hashBytes(block), i * blockRows * 16)
    return bytes
  }

  #mergeRow(rows: EntryRows, row: number): void {
    const slot = this.#slot(rows.words, row * 4)
    const found = this.#index[slot] ?? 0
    if (found === 0) this.#append(rows, row, slot)
    else this.#prefer(rows, row, found - 1)
  }

  #append(rows: EntryRows, row: number, slot: number): void {
    const at = this.#size & rowMask
    if (at === 0) this.#blocks.push(new Block(blockRows, this.#texts))
    this.#block(this.#size).copy(rows, { from: row, to: at })
    this.#count(rows.statuses[row], 1)
    this.#index[slot] = ++this.#size
  }

  #prefer(rows: EntryRows, row: number, present: number): void {
    const block = this.#block(present)
    const at = present & rowMask
    // Of millions that are read twice, nearly all are the very same.
    if (isSameRow({ rows: block, row: at }, { rows, row })) return
    if (compareEntries(rowEntry(block, at), rowEntry(rows, row)) <= 0) return
    this.#count(block.statuses[at], -1)
    this.#count(rows.statuses[row], 1)
    block.copy(rows, { from: row, to: at })
  }

  #count(status: number | undefined, change: number): void {
    const code = status ?? stored
    this.#counts[code] = (this.#counts[code] ?? 0) + change
  }

  #block(row: number): Block {
    const block = this.#blocks[row >>> blockBits]
    if (!block) throw new RangeError(`no such row. row=${row}, size=${this.#size}`)
    return block
  }

  /** Where the hash stands in the index, or the free slot where it would. */
  #slot(words: Uint32Array, at: number): number {
    const mask = this.#index.length - 1
    const [w0, w1, w2, w3] = [words[at], words[at + 1], words[at + 2], words[at + 3]]
    for (let slot = firstSlot(words, at, mask); ; slot = (slot + 1) & mask) {
      const found = this.#index[slot] ?? 0
      if (found === 0) return slot
      const theirs = this.#block(found - 1).words
      const i = ((found - 1) & rowMask) * 4
      if (
        theirs[i] === w0 &&
        theirs[i + 1] === w1 &&
        theirs[i + 2] === w2 &&
        theirs[i + 3] === w3
      ) {
        return slot
      }
    }
  }

  /** As `#slot` for a hash known to be absent: nothing needs to be compared. */
  #free(words: Uint32Array, at: number): number {
    const mask = this.#index.length - 1
    let slot = firstSlot(words, at, mask)
    while (this.#index[slot] !== 0) slot = (slot + 1) & mask
    return slot
  }
}

interface RowPlace {
  readonly rows: EntryRows
  readonly row: number
}

/** Whether two rows of one hash say the same, told without an object or a text for each. */
const isSameRow = ({ rows: a, row: i }: RowPlace, { rows: b, row: j }: RowPlace): boolean =>
  a.statuses[i] === b.statuses[j] &&
  a.crc32s[i] === b.crc32s[j] &&
  a.lengths[i] === b.lengths[j] &&
  a.tokens[i] === b.tokens[j] &&
  (a.offsets?.[i] ?? 0) === (b.offsets?.[j] ?? 0) &&
  (a.attempts?.[i] ?? 0) === (b.attempts?.[j] ?? 0) &&
  a.key(i) === b.key(j) &&
  a.reason(i) === b.reason(j)

/** Hashes come from SHA-256: any bits of theirs are spread evenly. */
const firstSlot = (words: Uint32Array, at: number, mask: number): number =>
  ((words[at] ?? 0) ^ (words[at + 1] ?? 0)) & mask
