/** Which usable row has a content hash: a dataset's rows, hashed once they are needed. */
import { type Clock, sleep } from '../clock.ts'
import { contentHash } from './fingerprint.ts'
import { Owners } from './owners.ts'
import type { RowHashes } from './row-hashes.ts'
import type { Dataset } from './rows.ts'
import { type Limits, skipByLength, usable } from './usable.ts'

/** The longest that a thread hashes rows without letting a message in. */
const sliceMs = 20

/** What is known of a row's use. */
const verdicts = { unread: 0, usable: 1, unusable: 2 } as const

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

/** All rows by their hash. */
interface Index {
  /** The first row of each hash. */
  readonly owners: Owners
  /** Another row of the same hash; −1 after the last. */
  readonly next: Int32Array
}

export class RowIndex {
  readonly #parts: RowIndexParts
  /**
   * Of each row, by this start's limits and columns: a hash that an earlier start kept says
   * nothing of these.
   */
  readonly #verdicts: Uint8Array
  #index: Promise<Index> | undefined

  constructor(parts: RowIndexParts) {
    this.#parts = parts
    this.#verdicts = new Uint8Array(parts.rows)
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
      if (found && Buffer.compare(found, hash) === 0 && this.#isUsable(guess)) return true
    }
    this.#index ??= this.#hashAll()
    const { owners, next } = await this.#index
    if (!owners.has(hash)) return false
    for (let row = owners.claim(hash, 0); row >= 0; row = next[row]) {
      if (this.#isUsable(row)) return true
    }
    return false
  }

  /** In order, for shards are read in order fastest. */
  async #hashAll(): Promise<Index> {
    const { clock, onProgress, rows } = this.#parts
    const owners = new Owners(rows)
    const next = new Int32Array(rows).fill(-1)
    let sliceStart = clock.now()
    for (let row = 0; row < rows; row++) {
      const hash = this.#hashOf(row)
      const owner = hash ? owners.claim(hash, row) : row
      if (owner !== row) {
        next[row] = next[owner]
        next[owner] = row
      }
      if (clock.now() - sliceStart < sliceMs) continue
      onProgress?.(row + 1)
      await sleep(0, clock)
      sliceStart = clock.now()
    }
    return { owners, next }
  }

  /** Undefined for a row that is no use. One whose hash is known may be none: ask `#isUsable`. */
  #hashOf(row: number): Uint8Array | undefined {
    const { hashes, lengths, limits } = this.#parts
    if (skipByLength(lengths[row], limits.maxTokens)) return undefined
    const known = hashes.get(row)
    if (known) return known
    return this.#isUsable(row) ? hashes.get(row) : undefined
  }

  /** Reads the row, the first time that it is asked of it. */
  #isUsable(row: number): boolean {
    if (this.#verdicts[row] === verdicts.unread) {
      const { dataset, hashes, limits } = this.#parts
      const sample = usable(dataset.read(row), limits)
      const isUnusable = 'unusable' in sample
      this.#verdicts[row] = isUnusable ? verdicts.unusable : verdicts.usable
      if (!isUnusable) hashes.set(row, contentHash(sample.ids))
    }
    return this.#verdicts[row] === verdicts.usable
  }
}
