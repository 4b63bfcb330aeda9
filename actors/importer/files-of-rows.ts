import { Owners } from '../../src/dataset/owners.ts'

/** How many files there are of each row, by the hash of its token ids. */
export class FilesOfRows {
  readonly #places = new Owners()
  readonly #rows: { readonly hash: Uint8Array; files: number }[] = []

  /** @param hash  16 bytes */
  add(hash: Uint8Array): void {
    const place = this.#places.claim(hash, this.#rows.length)
    this.#rows[place] ??= { hash, files: 0 }
    this.#rows[place].files++
  }

  /** @param hash  16 bytes */
  of(hash: Uint8Array): number {
    return this.#places.has(hash) ? this.#rows[this.#places.claim(hash, 0)].files : 0
  }

  /** How many rows are not among these. */
  lacking(present: Owners): number {
    return this.#rows.filter(({ hash }) => !present.has(hash)).length
  }
}
