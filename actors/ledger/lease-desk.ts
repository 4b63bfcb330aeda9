import type { Handlers } from '../../protocol/contract.ts'
import type { ledgerContract, NextLease } from '../../protocol/ledger.ts'
import type { Outcome } from '../../src/store/limited.ts'
import type { Ledger } from './ledger.ts'
import type { PermitDesk } from './permit-desk.ts'

type Leasing = 'next' | 'wake' | 'stored' | 'unavailable' | 'failed' | 'torn'

/**
 * What one uploader is answered about leases. A permit goes with each where one is free, and comes
 * back with the word of what became of it: two questions less for each sample.
 */
export function leaseDesk(
  ledger: Ledger,
  permits: PermitDesk,
  uploader: string,
): Pick<Handlers<typeof ledgerContract>, Leasing> {
  const next = async (wait: boolean): Promise<NextLease> => {
    const lease = await ledger.next(uploader, wait)
    if (!lease) return { kind: 'later' }
    // Leases are numbered from 2^32 on: no asker comes so far with its own numbers.
    const { id, item: sample } = lease
    return { kind: 'lease', lease: { id, sample, permit: permits.take(id) } }
  }
  const comesBack = (permit: number | null, outcome: Outcome) => {
    if (permit !== null) permits.release({ ticket: permit, outcome })
  }
  return {
    next: ({ wait }) => next(wait),
    wake: () => ledger.wake(uploader),
    stored: ({ lease, key, permit, more }) => {
      comesBack(permit, 'answered')
      ledger.stored(lease, key)
      return more === 'none' ? { kind: 'later' } : next(more === 'wait')
    },
    unavailable: ({ lease, reason, permit }) => {
      comesBack(permit, 'lost')
      ledger.unavailable(lease, reason)
    },
    failed: ({ lease, reason, permit }) => {
      comesBack(permit, 'answered')
      ledger.failed(lease, reason)
    },
    torn: ({ lease, reason, permit }) => {
      comesBack(permit, 'lost')
      return ledger.torn(lease, reason)
    },
  }
}
