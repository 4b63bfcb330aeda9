/** Which usable row has a content hash: a dataset's rows, hashed once they are needed. */
import { type Clock, sleep } from '../clock.ts'
import { contentHash } from './fingerprint.ts'
import { Owners } from './owners.ts'
import type { RowHashes } from './row-hashes.ts'
import type { Dataset } from './rows.ts'
import { type Limits, skipByLength, usable } from './usable.ts'

/** The longest that a thread hashes rows without letting a message in. */
const sliceMs = 20

export interface RowIndexParts {
  readonly dataset: Pick<Dataset, 'read'>
  /** What is known of all rows: read here, and added to. */
  readonly hashes: Pick<RowHashes, 'get' | 'set'>
  readonly lengths: Int32Array
  /** Only the first so many. */
  readonly rows: number
  readonly limits: Limits
  readonly clock: Clock
  /** Told after each slice of the work. */
  readonly onProgress?: (hashed: number) => void
}

export class RowIndex {
  readonly #parts: RowIndexParts
  #index: Promise<Owners> | undefined

  constructor(parts: RowIndexParts) {
    this.#parts = parts
  }

  /**
   * Whether a usable row has this hash. Looks at the row that is guessed first: where guesses are
   * right, no other row is read.
   *
   * @param hash   16 bytes, of `contentHash`
   * @param guess  a row that may be the one
   */
  async has(hash: Uint8Array, guess?: number): Promise<boolean> {
    if (guess !== undefined && guess < this.#parts.rows) {
      const found = this.#hashOf(guess)
      if (found && Buffer.compare(found, hash) === 0) return true
    }
    this.#index ??= this.#hashAll()
    return (await this.#index).has(hash)
  }

  /** In order, for shards are read in order fastest. */
  async #hashAll(): Promise<Owners> {
    const { clock, onProgress, rows } = this.#parts
    const owners = new Owners(rows)
    let sliceStart = clock.now()
    for (let row = 0; row < rows; row++) {
      const hash = this.#hashOf(row)
      if (hash) owners.claim(hash, row)
      if (clock.now() - sliceStart < sliceMs) continue
      onProgress?.(row + 1)
      await sleep(0, clock)
      sliceStart = clock.now()
    }
    return owners
  }

  /** Undefined for a row that is no use. One whose hash is known was of use when it was read. */
  #hashOf(row: number): Uint8Array | undefined {
    const { dataset, hashes, lengths, limits } = this.#parts
    if (skipByLength(lengths[row], limits.maxTokens)) return undefined
    const known = hashes.get(row)
    if (known) return known
    const sample = usable(dataset.read(row), limits)
    if ('unusable' in sample) return undefined
    const hash = contentHash(sample.ids)
    hashes.set(row, hash)
    return hash
  }
}
