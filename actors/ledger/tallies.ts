import type { Amount } from '../../protocol/ledger.ts'
import type { SampleHash, SampleRef } from '../../protocol/sample.ts'

/** Sums over samples, since the ledger's start. */
export class Tally {
  #sum: Amount = { samples: 0, bytes: 0, tokens: 0 }

  get sum(): Amount {
    return this.#sum
  }

  count({ bytes, tokens }: SampleRef): void {
    const { samples, ...sum } = this.#sum
    this.#sum = { samples: samples + 1, bytes: sum.bytes + bytes, tokens: sum.tokens + tokens }
  }
}

/** The same of distinct samples: a file that comes in place of a torn one is counted no more. */
export class SpooledTally extends Tally {
  /** By the reference that is held until the commit: an earlier start's are not among them. */
  readonly #counted = new WeakSet<SampleRef>()
  readonly #torn = new Set<SampleHash>()

  override count(sample: SampleRef): void {
    this.#counted.add(sample)
    if (!this.#torn.delete(sample.hash)) super.count(sample)
  }

  /** @param sample  the reference that was counted, or one that was not */
  torn(sample: SampleRef): void {
    if (this.#counted.has(sample)) this.#torn.add(sample.hash)
  }
}
