import type { ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import { permitsOf } from '../../protocol/permit.ts'
import { ledgerRequests } from '../../protocol/request-shares.ts'
import { systemClock } from '../../src/clock.ts'
import type { Config } from '../../src/config/schema.ts'
import type { Acquire } from '../../src/store/limited.ts'
import { Permits } from '../../src/store/permits.ts'

/**
 * How many requests to the store a run may have open, over all its threads. Before the tree and
 * after it, all permits are this thread's; while it lives they are the ledger's, less one that the
 * lock needs: it must beat while the ledger is away.
 */
export class RequestCap {
  #maxParallel: number
  readonly #own: Permits
  readonly #takeOwn: Acquire
  /** Of the tree's ledger, while there is one. */
  #takeLedgers: Acquire | undefined

  constructor({ maxParallel }: Pick<Config['upload'], 'maxParallel'>, clock = systemClock) {
    this.#maxParallel = maxParallel
    this.#own = new Permits(maxParallel, { clock })
    this.#takeOwn = this.#own.taker('supervisor', 'manifest')
  }

  /** For this thread's own requests. */
  readonly acquire: Acquire = () => {
    // Where there is but one permit for all, the lock too waits for the ledger.
    const take = this.#lockHasPermit ? this.#takeOwn : (this.#takeLedgers ?? this.#takeOwn)
    return take()
  }

  /** The tree's start: `ledger` is a client of its own. */
  handOver(ledger: Peer<typeof ledgerContract>): void {
    this.#takeLedgers = permitsOf(ledger, 'manifest')
    this.#own.setMax(1)
  }

  /** The tree's end: nobody else asks the store any more. */
  takeBack(): void {
    this.#takeLedgers = undefined
    this.#own.setMax(this.#maxParallel)
  }

  /** From now on; those of a tree are told as of any other setting. */
  set(maxParallel: number): void {
    this.#maxParallel = maxParallel
    if (!this.#takeLedgers) this.#own.setMax(maxParallel)
  }

  get #lockHasPermit(): boolean {
    return ledgerRequests(this.#maxParallel) < this.#maxParallel
  }
}
