import type { Speed } from '../protocol/console.ts'
import type { Amount, LedgerStatus } from '../protocol/ledger.ts'
import type { ReaderStatus } from '../protocol/reader.ts'
import { Rate } from './rate.ts'

/** How far a run is, and how fast. */

/**
 * What the ledger counted, over all its starts in this process: one that starts anew counts from 0.
 */
export class Counted {
  #before: Amount = nothing
  #last: Amount = nothing

  note(amount: Amount): void {
    if (amount.samples < this.#last.samples) this.#before = sum(this.#before, this.#last)
    this.#last = amount
  }

  get all(): Amount {
    return sum(this.#before, this.#last)
  }
}

const nothing: Amount = { samples: 0, bytes: 0, tokens: 0 }

const sum = (a: Amount, b: Amount): Amount => ({
  samples: a.samples + b.samples,
  bytes: a.bytes + b.bytes,
  tokens: a.tokens + b.tokens,
})

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
