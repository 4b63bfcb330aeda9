import type { ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import { askForPermit, giveBackPermit } from '../../protocol/permit.ts'
import type { Acquire } from '../../src/store/limited.ts'

/**
 * The permits of one uploader's thread. Most come with leases and go back with the word of what
 * became of them; where none is in hand, one is asked for. A permit whose request was answered
 * stays in hand, for its lane either asks the store once more or tells at once. All others go back
 * at once: their lane may have to wait, and the ledger learns that the store has too much to do.
 *
 * There are never more than lanes that hold a lease: a request asks only where none is in hand, and
 * each lane that is done takes one out.
 */
export class PermitsInHand {
  readonly #ledger: Peer<typeof ledgerContract>
  readonly #idle: number[] = []
  readonly #used = new Set<number>()

  constructor(ledger: Peer<typeof ledgerContract>) {
    this.#ledger = ledger
  }

  /** One that came with a lease, or none. */
  put(permit: number | null): void {
    if (permit !== null) this.#idle.push(permit)
  }

  /** One that goes back with the word of a lease's end; null where none is in hand. */
  take(): number | null {
    return this.#idle.pop() ?? null
  }

  readonly acquire: Acquire = async () => {
    const permit = this.#idle.pop() ?? (await askForPermit(this.#ledger, 'sample'))
    this.#used.add(permit)
    return (outcome) => {
      if (!this.#used.delete(permit)) return
      if (outcome === 'answered') this.#idle.push(permit)
      else giveBackPermit(this.#ledger, { ticket: permit, outcome })
    }
  }
}
