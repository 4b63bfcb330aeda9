import type { Batch } from '../../protocol/sample.ts'
import type { Claims } from '../../src/spool/claims.ts'

interface BatchLease {
  readonly batch: Batch
  readonly holder: string
  /**
   * `adopted`: an earlier reader lent it, and its holder has not asked since; `lost`: its holder is
   * gone; `judged`: and its supervisor has heard, for it has come back.
   */
  readonly state: 'held' | 'adopted' | 'lost' | 'judged'
}

/** Who computes which batch, through the ends of those who compute and of those who lend. */
export class BatchLeases {
  readonly #claims: Pick<Claims, 'holder'>
  readonly #leases = new Map<string, BatchLease>()
  /** Those that have asked here: what they hold, this reader has lent. */
  readonly #askers = new Set<string>()

  constructor(claims: Pick<Claims, 'holder'>) {
    this.#claims = claims
  }

  get size(): number {
    return this.#leases.size
  }

  get batches(): readonly Batch[] {
    return [...this.#leases.values()].map(({ batch }) => batch)
  }

  lend(batch: Batch, holder: string): void {
    this.#leases.set(batch.id, { batch, holder, state: 'held' })
  }

  /** True where someone computes it by an earlier reader's word, and goes on with it. */
  adopts(batch: Batch): boolean {
    const holder = this.#claims.holder(batch.id)
    if (holder === null || this.#askers.has(holder)) return false
    this.#leases.set(batch.id, { batch, holder, state: 'adopted' })
    return true
  }

  /** True where it was lent. */
  done(id: string): boolean {
    return this.#leases.delete(id)
  }

  /** Whoever asks for a batch holds none. */
  asks(holder: string): void {
    this.#askers.add(holder)
    this.#move(holder, ['lost', 'adopted'], 'judged')
  }

  /** Its thread is gone. */
  ended(holder: string): void {
    this.#move(holder, ['held', 'adopted'], 'lost')
  }

  /**
   * What nobody computes any more. Its supervisor hears of a death later than we: until then,
   * nobody is blamed for it. On a full disk it can blame nobody: then its claim stays though it has
   * been heard of.
   */
  takeBack(): readonly Batch[] {
    const back: Batch[] = []
    for (const [id, { batch, holder, state }] of this.#leases) {
      if (state === 'held' || state === 'adopted') continue
      if (state === 'lost' && this.#claims.holder(id) === holder) continue
      this.#leases.delete(id)
      back.push(batch)
    }
    return back
  }

  #move(holder: string, from: readonly BatchLease['state'][], to: BatchLease['state']): void {
    for (const [id, lease] of this.#leases) {
      if (lease.holder !== holder || !from.includes(lease.state)) continue
      this.#leases.set(id, { ...lease, state: to })
    }
  }
}
