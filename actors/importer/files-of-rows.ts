import { Owners } from '../../src/dataset/owners.ts'

/** How many files there are of each row, by the hash of its token ids. */
export class FilesOfRows {
  readonly #places = new Owners()
  readonly #counts: number[] = []

  /** @param hash  16 bytes */
  add(hash: Uint8Array): void {
    const place = this.#places.claim(hash, this.#places.size)
    this.#counts[place] = (this.#counts[place] ?? 0) + 1
  }

  /** @param hash  16 bytes */
  of(hash: Uint8Array): number {
    return this.#places.has(hash) ? this.#counts[this.#places.claim(hash, 0)] : 0
  }
}
