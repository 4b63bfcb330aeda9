import { transfer } from '../../protocol/channel.ts'
import { ledgerContract } from '../../protocol/ledger.ts'
import type { Actor } from '../../protocol/lifecycle.ts'
import { permitsOf } from '../../protocol/permit.ts'
import { readerContract } from '../../protocol/reader.ts'
import { keepRowHashes } from '../../src/run/kept-hashes.ts'
import { openClaims } from '../../src/spool/claims.ts'
import { patientStore } from '../../src/store/patient.ts'
import type { ReaderInput } from './index.ts'
import { openPlanned, type ReaderSurroundings } from './open.ts'
import { Reader } from './read.ts'

export async function begin(self: Actor<ReaderInput>, around: ReaderSurroundings): Promise<void> {
  const { input, log } = self
  const { clock, disk } = around
  const ledger = self.peer('ledger', ledgerContract)
  const acquire = permitsOf(ledger, 'manifest')
  const store = await patientStore(input.store, {
    acquire,
    attempts: input.attempts,
    log,
    around,
  })
  const dataset = await openPlanned(input, { store, log, around })
  const known = await ledger.again((ask) => ask.known())
  const reader = new Reader({
    batches: dataset.batches(known),
    rows: dataset.rows,
    tokens: dataset.tokens,
    claims: openClaims(input.work, around),
    clock,
    log,
    known: () => ledger.again((ask) => ask.known()),
    settled: () => ledger.again((ask) => ask.settled()),
    quarantined: (samples) => ledger.again((ask) => ask.quarantined(samples)),
  })
  const saved = keepRowHashes(dataset.hashes, { work: input.work, store, log, clock, disk })

  self.serve(
    readerContract,
    (asker) => ({
      next: async () => {
        const next = await reader.next(asker.id)
        return next.kind === 'batch' ? transfer(next, [next.batch.tokenIds.buffer]) : next
      },
      done: ({ batch }) => reader.done(batch),
      pause: (paused) => reader.pause(paused),
      status: () => reader.status(),
    }),
    { closed: (asker) => reader.holderEnded(asker.id) },
  )
  self.live({
    drain: async () => {
      reader.drain()
      await saved.now()
    },
    status: () => ({ work: reader.work }),
  })
}
