import type { Acquire, Outcome } from '../src/store/limited.ts'
import type { TransferKind } from '../src/store/permits.ts'
import type { ledgerContract } from './ledger.ts'
import type { Peer } from './peer.ts'

/**
 * A permit is named by its asker, with a number of its own: so it can be given back also where no
 * answer came, be it granted later, or lost on its way.
 */
export interface PermitAsk {
  readonly ticket: number
  readonly kind: TransferKind
}

export interface PermitEnd {
  readonly ticket: number
  readonly outcome: Outcome
}

/**
 * How actors other than the ledger come by permits: ask until there is one, and give it back. A
 * permit of a ledger that has died since is no one's, and needs no return.
 */
export function permitsOf(ledger: Peer<typeof ledgerContract>, kind: TransferKind): Acquire {
  const giveBack = (end: PermitEnd) => void ledger.ask.release(end).catch(() => undefined)
  return async () => {
    const ticket = nextTicket++
    for (;;) {
      try {
        const granted = await ledger.again((ask) => ask.permit({ ticket, kind }))
        if (granted) return (outcome) => giveBack({ ticket, outcome })
      } catch (error) {
        // Nobody listens any more when the ledger's answer comes: it must not count as open.
        giveBack({ ticket, outcome: 'lost' })
        throw error
      }
    }
  }
}

/** One count for all that this thread asks for: an asker is a thread. */
let nextTicket = 1
