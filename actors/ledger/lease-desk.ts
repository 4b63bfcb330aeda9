import type { Handlers } from '../../protocol/contract.ts'
import type { Leased } from '../../protocol/lease-book.ts'
import type { Lease, ledgerContract } from '../../protocol/ledger.ts'
import type { SampleRef } from '../../protocol/sample.ts'
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
  // Leases are numbered from 2^32 on: no asker comes so far with its own numbers.
  const withPermit = ({ id, item: sample }: Leased<SampleRef>): Lease => ({
    id,
    sample,
    permit: permits.take(id),
  })
  const comesBack = (permit: number | null, outcome: Outcome) => {
    if (permit !== null) permits.release({ ticket: permit, outcome })
  }
  return {
    next: async ({ wait }) => {
      const lease = await ledger.next(uploader, wait)
      return lease ? { kind: 'lease', lease: withPermit(lease) } : { kind: 'later' }
    },
    wake: () => ledger.wake(uploader),
    stored: ({ ends, want }) => {
      for (const { lease, key, permit } of ends) {
        comesBack(permit, 'answered')
        ledger.stored(lease, key)
      }
      const leases: Lease[] = []
      while (leases.length < want) {
        const lease = ledger.take(uploader)
        if (!lease) break
        leases.push(withPermit(lease))
      }
      return leases
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
