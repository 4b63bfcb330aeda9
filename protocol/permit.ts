import type { TransferKind } from '../src/store/permits.ts'
import type { ledgerContract } from './ledger.ts'
import type { Peer } from './peer.ts'

/**
 * How actors other than the ledger come by a permit: ask until there is one, and give it back. A
 * permit of a ledger that has died since is no one's, and needs no return.
 *
 * @returns  takes one permit; what it answers gives it back
 */
export function permitsOf(
  ledger: Peer<typeof ledgerContract>,
  kind: TransferKind,
): () => Promise<() => void> {
  return async () => {
    for (;;) {
      const id = await ledger.again((ask) => ask.permit(kind))
      if (id !== null) return () => void ledger.ask.release(id).catch(() => undefined)
    }
  }
}
