import { formatBytes } from '../../src/config/sizes.ts'
import { Failure } from '../../src/failure.ts'
import type { Grants } from './grants.ts'

export interface SpoolLimits {
  /** Our own files never pass this. */
  readonly maxBytes: number
  /** The disk keeps so much, whoever else writes on it. */
  readonly keepFree: number
}

/**
 * Room in the spool: granted before a batch is computed, so that nothing is computed for nowhere.
 */
export class Room {
  #limits: SpoolLimits
  /** As configured: what does not fit it never will. */
  readonly #maxBytes: number
  readonly #granted: Grants
  #used = 0
  #files = 0

  /** @param granted  by ledgers before this one too: their writers may still be writing */
  constructor(limits: SpoolLimits, granted: Grants) {
    this.#limits = limits
    this.#maxBytes = limits.maxBytes
    this.#granted = granted
  }

  /** From now on: what passes a lower limit stays, and nothing is granted until it fits again. */
  limit(limits: Partial<SpoolLimits>): void {
    this.#limits = { ...this.#limits, ...limits }
  }

  get bytes(): number {
    return this.#used
  }

  /** What writers may still write, and have not told of. */
  get granted(): number {
    return this.#granted.sum
  }

  get files(): number {
    return this.#files
  }

  /**
   * Grants what the asker wants to write; it replaces what it was granted before.
   *
   * @param free  bytes that the disk has free now
   * @returns  null where granted, else why not
   * @throws   Failure `invalid`: the spool could not hold it were it empty
   */
  ask(asker: string, bytes: number, free: number): string | null {
    const { maxBytes, keepFree } = this.#limits
    const ever = Math.max(this.#maxBytes, maxBytes)
    if (bytes > ever) {
      const values = `batch=${formatBytes(bytes)}, spool.maxBytes=${formatBytes(ever)}`
      throw new Failure('invalid', `one batch does not fit the spool. ${values}`, {
        remedy: 'Raise spool.maxBytes, or lower extract.tokenBudget.',
      })
    }
    this.#granted.clear(asker)
    const promised = this.#granted.sum
    if (this.#used + promised + bytes > maxBytes) {
      const needs = bytes > maxBytes ? `, and a batch has ${formatBytes(bytes)}` : ''
      return `spool.maxBytes is reached: ${formatBytes(this.#used)} wait for the store${needs}`
    }
    if (free - promised - bytes < keepFree) {
      return `the disk must keep ${formatBytes(keepFree)} free and has ${formatBytes(free)}`
    }
    this.#granted.set(asker, bytes)
    return null
  }

  /**
   * Bytes of files that must go before so many more would be granted to one who has no grant.
   *
   * @param beside  bytes of other files that share the spool's room
   */
  lacks(bytes: number, free: number, beside = 0): number {
    const { maxBytes, keepFree } = this.#limits
    const more = this.#granted.sum + bytes
    return Math.max(0, this.#used + beside + more - maxBytes, more + keepFree - free)
  }

  /** A file lies in the spool now; `asker` wrote it, where it was written since this start. */
  added(bytes: number, asker?: string): void {
    this.#used += bytes
    this.#files++
    const grant = asker === undefined ? 0 : this.#granted.get(asker)
    if (asker !== undefined && grant > 0) this.#granted.set(asker, Math.max(0, grant - bytes))
  }

  removed(bytes: number): void {
    this.#used -= bytes
    this.#files--
  }

  /** Its batch is told: it writes no more of it. */
  clear(asker: string): void {
    this.#granted.clear(asker)
  }

  /** What it was granted may lie on the disk, in part or whole, and was not told. */
  has(asker: string): boolean {
    return this.#granted.get(asker) > 0
  }
}
