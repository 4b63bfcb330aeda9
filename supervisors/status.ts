import type { Speed } from '../protocol/console.ts'
import type { LedgerStatus } from '../protocol/ledger.ts'
import type { ReaderStatus } from '../protocol/reader.ts'
import { Rate } from './rate.ts'

/** How far a run is, and how fast. */

/** Rows that have come to their end, or at least into the spool. */
export function rowsDone(reader: ReaderStatus, ledger: LedgerStatus): number {
  const skipped = Object.values(reader.skipped).reduce((sum, count) => sum + count, 0)
  const done = reader.found + reader.repeated + skipped + ledger.spooled.samples
  return Math.min(done, reader.rows)
}

/** Speeds over the last half minute. */
export class Speeds {
  readonly #samples = new Rate()
  readonly #tokens = new Rate()
  readonly #stored = new Rate()
  readonly #bytes = new Rate()
  #tokensLeft: number | null = null

  note(reader: ReaderStatus, ledger: LedgerStatus, now: number): void {
    this.#samples.note(ledger.spooled.samples, now)
    this.#tokens.note(ledger.spooled.tokens, now)
    this.#stored.note(ledger.stored.samples, now)
    this.#bytes.note(ledger.stored.bytes, now)
    this.#tokensLeft = Math.max(0, reader.tokens - reader.tokensDone)
  }

  read(): Speed {
    const tokensPerSecond = this.#tokens.perSecond
    const moves = this.#tokensLeft !== null && tokensPerSecond > 0
    return {
      extracted: { samplesPerSecond: this.#samples.perSecond, tokensPerSecond },
      uploaded: {
        samplesPerSecond: this.#stored.perSecond,
        bytesPerSecond: this.#bytes.perSecond,
      },
      etaSeconds: moves ? (this.#tokensLeft ?? 0) / tokensPerSecond : null,
    }
  }
}
