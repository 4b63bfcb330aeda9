import type { ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import { askForPermit, giveBackPermit } from '../../protocol/permit.ts'
import type { Acquire, Outcome } from '../../src/store/limited.ts'

/**
 * The permits of one uploader's thread. Most come with leases and go back with the word of what
 * became of them; where none is in hand, one is asked for. A permit whose request was answered
 * stays in hand, for its lane either asks the store once more or tells at once.
 *
 * Once a request ends otherwise, its lanes may all have to wait, for minutes where the store says
 * so, and other threads need the few permits that are left. So all in hand go back then, and one
 * that comes with a lease goes back at once, until a request is answered again.
 *
 * There are never more than lanes that hold a lease: a request asks only where none is in hand, and
 * each lane that is done takes one out.
 */
export class PermitsInHand {
  readonly #ledger: Peer<typeof ledgerContract>
  readonly #idle: number[] = []
  #store: 'answers' | 'fails' = 'answers'

  constructor(ledger: Peer<typeof ledgerContract>) {
    this.#ledger = ledger
  }

  /** One that came with a lease, or none. */
  put(permit: number | null): void {
    if (permit === null) return
    if (this.#store === 'answers') this.#idle.push(permit)
    else this.#giveBack(permit, 'lost')
  }

  /** One that goes back with the word of a lease's end; null where none is in hand. */
  take(): number | null {
    return this.#idle.pop() ?? null
  }

  readonly acquire: Acquire = async () => {
    const permit = this.#idle.pop() ?? (await askForPermit(this.#ledger, 'sample'))
    let isOver = false
    return (outcome) => {
      // The number may serve another request by now: only this one's first end counts.
      if (isOver) return
      isOver = true
      this.#over(permit, outcome)
    }
  }

  #over(permit: number, outcome: Outcome): void {
    if (outcome === 'answered') {
      this.#store = 'answers'
      this.#idle.push(permit)
      return
    }
    this.#store = 'fails'
    this.#giveBack(permit, outcome)
    for (const unused of this.#idle.splice(0)) this.#giveBack(unused, 'lost')
  }

  #giveBack(ticket: number, outcome: Outcome): void {
    giveBackPermit(this.#ledger, { ticket, outcome })
  }
}
