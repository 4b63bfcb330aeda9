/** Which row was the first to hold a content hash: 16-byte hashes, found by open addressing. */
import { hashWord } from '../hash-words.ts'

/**
 * One slot a hash; hashes are the heads of SHA-256 sums, so any of their bits are spread evenly.
 * Nothing is made for a look: a start asks for each of a million rows several times.
 */
export class Owners {
  #words: Uint32Array
  #rows: Int32Array
  #count = 0

  constructor(expected = 1024) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(16, expected * 1.6)))
    this.#words = new Uint32Array(slots * 4)
    this.#rows = new Int32Array(slots).fill(-1)
  }

  /** @param hashes  16 bytes each, one after the other; all owned by row 0 */
  static of(hashes: Uint8Array): Owners {
    const owners = new Owners(hashes.length / 16)
    for (let at = 0; at < hashes.length; at += 16) owners.#claim(hashes, at, 0)
    return owners
  }

  get size(): number {
    return this.#count
  }

  /**
   * The row that owns the hash: the one that claimed it first.
   *
   * @param hash  16 bytes
   */
  claim(hash: Uint8Array, row: number): number {
    return this.#claim(hash, 0, row)
  }

  has(hash: Uint8Array): boolean {
    return this.#rows[this.#slot(hash, 0)] >= 0
  }

  #claim(hashes: Uint8Array, at: number, row: number): number {
    if (this.#count * 3 > this.#rows.length * 2) this.#grow()
    const slot = this.#slot(hashes, at)
    if (this.#rows[slot] >= 0) return this.#rows[slot]
    for (let word = 0; word < 4; word++) {
      this.#words[slot * 4 + word] = hashWord(hashes, at + word * 4)
    }
    this.#rows[slot] = row
    this.#count++
    return row
  }

  /** Where the hash at `at` stands, or would. */
  #slot(hashes: Uint8Array, at: number): number {
    const mask = this.#rows.length - 1
    const table = this.#words
    const first = hashWord(hashes, at)
    for (let slot = first & mask; ; slot = (slot + 1) & mask) {
      if (this.#rows[slot] < 0) return slot
      const same =
        table[slot * 4] === first &&
        table[slot * 4 + 1] === hashWord(hashes, at + 4) &&
        table[slot * 4 + 2] === hashWord(hashes, at + 8) &&
        table[slot * 4 + 3] === hashWord(hashes, at + 12)
      if (same) return slot
    }
  }

  #grow(): void {
    const words = this.#words
    const rows = this.#rows
    this.#words = new Uint32Array(words.length * 2)
    this.#rows = new Int32Array(rows.length * 2).fill(-1)
    const bytes = new Uint8Array(words.buffer)
    for (let slot = 0; slot < rows.length; slot++) {
      if (rows[slot] < 0) continue
      const to = this.#slot(bytes, slot * 16)
      this.#words.set(words.subarray(slot * 4, slot * 4 + 4), to * 4)
      this.#rows[to] = rows[slot]
    }
  }
}
