import { createActor } from 'xstate'
import { firstIdOf } from '../../protocol/lease-book.ts'
import { ledgerContract } from '../../protocol/ledger.ts'
import { actor } from '../../protocol/lifecycle.ts'
import { patientStore } from '../../src/store/patient.ts'
import { Permits } from '../../src/store/permits.ts'
import type { LedgerInput } from './index.ts'
import { ledgerMachine } from './machine.ts'
import { openLedger } from './open.ts'

const self = actor<LedgerInput>()
const { input, log } = self
const life = createActor(ledgerMachine).start()
const permits = new Permits(input.maxParallel, { firstId: firstIdOf(self.generation) })
/** How long a question for a permit waits. */
const permitMs = 10_000

const store = await patientStore(input.store, {
  acquire: permits.taker(self.id, 'manifest'),
  attempts: input.attempts,
  log,
})
const { ledger, committer, compactor } = await openLedger(input, {
  generation: self.generation,
  store,
  log,
  replayed: () => life.send({ type: 'replayed' }),
  // A full spool on a slow disk takes long: the supervisor sees that it goes on.
  recovering: ({ checked, files }) => self.pulse.beat(`${checked} of ${files} spooled files`),
  fatal: (error) => {
    throw error
  },
})
life.send({ type: 'recovered' })

setInterval(() => {
  const reason = ledger.whyLost(input.deadlineMinutes)
  if (reason !== null) life.send({ type: 'lost', reason })
}, 1000).unref()

self.serve(
  ledgerContract,
  (asker) => ({
    known: () => ledger.known(),
    room: ({ bytes }) => ledger.room(asker.id, bytes),
    spooled: (samples) => ledger.spooled(asker.id, samples),
    quarantined: (samples) => ledger.quarantined(samples),
    next: ({ wait }) => ledger.next(asker.id, wait),
    wake: () => ledger.wake(asker.id),
    permit: (kind) => permits.acquire(asker.id, kind, permitMs),
    release: (id) => permits.release(id),
    stored: ({ lease, key }) => ledger.stored(lease, key),
    unavailable: ({ lease, reason }) => ledger.unavailable(lease, reason),
    failed: ({ lease, reason }) => ledger.failed(lease, reason),
    torn: ({ lease, reason }) => ledger.torn(lease, reason),
    settled: () => ledger.settled(),
    status: () => ({
      ...ledger.status(),
      permits: { open: permits.open, max: permits.max, peak: permits.peak },
      gaveUp: life.getSnapshot().context.whyLost,
    }),
  }),
  {
    closed: (asker) => {
      permits.askerEnded(asker.id)
      ledger.askerEnded(asker.id)
    },
  },
)

self.live({
  drain: async () => {
    life.send({ type: 'drain' })
    await committer.flush()
    await compactor.stop()
    await ledger.sweep()
    life.send({ type: 'drained' })
  },
  status: () => ({ work: String(life.getSnapshot().value) }),
})
