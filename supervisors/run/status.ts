import type { Speed } from '../../protocol/console.ts'
import type { Amount, LedgerStatus } from '../../protocol/ledger.ts'
import type { SourceStatus } from '../../protocol/source.ts'
import { Rate } from '../../src/rate.ts'

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
  readonly #work = new Rate()
  #left: number | null = null

  note(source: SourceStatus | null, ledger: LedgerStatus, now: number): void {
    this.#samples.note(ledger.spooled.samples, now)
    this.#tokens.note(ledger.spooled.tokens, now)
    this.#stored.note(ledger.stored.samples, now)
    this.#bytes.note(ledger.stored.bytes, now)
    if (!source) return
    const { done, left } = workOf(source, ledger)
    this.#work.note(done, now)
    this.#left = Math.max(0, left)
  }

  read(): Speed {
    const moves = this.#left !== null && this.#work.perSecond > 0
    return {
      spooled: {
        samplesPerSecond: this.#samples.perSecond,
        tokensPerSecond: this.#tokens.perSecond,
      },
      uploaded: {
        samplesPerSecond: this.#stored.perSecond,
        bytesPerSecond: this.#bytes.perSecond,
      },
      etaSeconds: moves ? (this.#left ?? 0) / this.#work.perSecond : null,
    }
  }
}

/** By what it takes time: computing tokens, or going through files. */
function workOf(source: SourceStatus, ledger: LedgerStatus) {
  if (source.of === 'rows') {
    return { done: ledger.spooled.tokens, left: source.tokens - source.tokensDone }
  }
  const done = source.examined - source.inHand
  return { done, left: source.files - done }
}
