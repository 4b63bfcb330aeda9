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
 * How actors other than the ledger come by permits: ask until there is one, and give it back, also
 * where another ledger has taken its place meanwhile: that one counts it on.
 */
export function permitsOf(ledger: Ledger, kind: TransferKind): Acquire {
  return async () => {
    const ticket = await askForPermit(ledger, kind)
    return (outcome) => giveBackPermit(ledger, { ticket, outcome })
  }
}

/** Waits until there is one. @returns its number */
export async function askForPermit(ledger: Ledger, kind: TransferKind): Promise<number> {
  const ticket = nextTicket++
  for (;;) {
    try {
      if (await ledger.again((ask) => ask.permit({ ticket, kind }))) return ticket
    } catch (error) {
      // Nobody listens any more when the ledger's answer comes: it must not count as open.
      giveBackPermit(ledger, { ticket, outcome: 'lost' })
      throw error
    }
  }
}

export function giveBackPermit(ledger: Ledger, end: PermitEnd): void {
  ledger.ask.release(end).catch(() => undefined)
}

type Ledger = Peer<typeof ledgerContract>

/** One count for all that this thread asks for: an asker is a thread. */
let nextTicket = 1
