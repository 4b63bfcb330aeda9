/** Which row was the first to hold a content hash: 16-byte hashes, found by open addressing. */
import { hashWords } from '../hash-words.ts'

/**
 * One slot a hash; hashes are the heads of SHA-256 sums, so any of their bits are spread evenly.
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
    for (let at = 0; at < hashes.length; at += 16) owners.claim(hashes.subarray(at, at + 16), 0)
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
    if (this.#count * 3 > this.#rows.length * 2) this.#grow()
    const words = hashWords(hash)
    const slot = this.#slot(words)
    if (this.#rows[slot] >= 0) return this.#rows[slot]
    this.#words.set(words, slot * 4)
    this.#rows[slot] = row
    this.#count++
    return row
  }

  has(hash: Uint8Array): boolean {
    return this.#rows[this.#slot(hashWords(hash))] >= 0
  }

  #slot(words: Uint32Array): number {
    const mask = this.#rows.length - 1
    const table = this.#words
    for (let slot = words[0] & mask; ; slot = (slot + 1) & mask) {
      if (this.#rows[slot] < 0) return slot
      const at = slot * 4
      const same =
        table[at] === words[0] &&
        table[at + 1] === words[1] &&
        table[at + 2] === words[2] &&
        table[at + 3] === words[3]
      if (same) return slot
    }
  }

  #grow(): void {
    const words = this.#words
    const rows = this.#rows
    this.#words = new Uint32Array(words.length * 2)
    this.#rows = new Int32Array(rows.length * 2).fill(-1)
    for (let slot = 0; slot < rows.length; slot++) {
      if (rows[slot] < 0) continue
      const hash = words.subarray(slot * 4, slot * 4 + 4)
      const to = this.#slot(hash)
      this.#words.set(hash, to * 4)
      this.#rows[to] = rows[slot]
    }
  }
}
