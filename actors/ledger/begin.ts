import { createActor } from 'xstate'
import { ledgerContract } from '../../protocol/ledger.ts'
import type { Actor } from '../../protocol/lifecycle.ts'
import { ledgerRequests } from '../../protocol/request-shares.ts'
import { type Clock, every, within } from '../../src/clock.ts'
import { explain, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import { patientStore } from '../../src/store/patient.ts'
import { type PermitOptions, Permits } from '../../src/store/permits.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import type { CompactRule } from './compactor.ts'
import { HeldPermits } from './held-permits.ts'
import type { LedgerInput } from './index.ts'
import { leaseDesk } from './lease-desk.ts'
import { ledgerMachine } from './machine.ts'
import { type OpenedLedger, openLedger } from './open.ts'
import { PermitDesk } from './permit-desk.ts'

/** How often it is asked whether the run can go on with its store. */
const lookMs = 1000
/** For what saves the next start some work, once all is committed. */
const tidyMs = 20_000
/** By then each request that was open when another ledger died has ended. */
const inheritMs = 10 * 60_000

const permitsUpTo = (max: number, options: PermitOptions) => new Permits(max, options)

/** What of a ledger may be given other than it is; default: as usual. */
export interface LedgerParts {
  /** Of all requests to the store. */
  readonly newPermits?: typeof permitsUpTo
  readonly compaction?: CompactRule
}

export async function begin(
  self: Actor<LedgerInput>,
  around: Surroundings,
  { newPermits = permitsUpTo, compaction }: LedgerParts = {},
): Promise<void> {
  const { input, log } = self
  const { clock } = around
  const life = createActor(ledgerMachine).start()
  const held = new HeldPermits(input.permits)
  const left = held.take()
  const permits = newPermits(input.maxParallel, {
    clock,
    onChange: (permit, change) => held.note(permit, change),
    onAdapt: (adapted) => {
      const { inForce, max } = permits.status
      if (adapted === 'restored') log.info({ max }, 'the store bears as many requests as allowed')
      else log.warn({ inForce, max }, 'the store has too much to do: fewer requests at once')
    },
  })

  let requests = 0
  for (const { asker, kind } of left) permits.inherit(asker, kind, inheritMs)
  const store = await patientStore(input.store, {
    acquire: permits.taker(self.id, 'manifest'),
    attempts: input.attempts,
    log,
    around,
    // A manifest over a slow line takes long: the supervisor sees that it goes on.
    onTried: () => {
      if (!life.getSnapshot().matches('replaying')) return
      self.pulse.beat(`replaying, ${++requests} requests`)
    },
  })
  const opened = await openLedger(input, {
    generation: self.generation,
    store,
    log,
    around,
    compaction,
    replayed: () => life.send({ type: 'replayed' }),
    // A full spool on a slow disk takes long: the supervisor sees that it goes on.
    recovering: ({ checked, files }) => self.pulse.beat(`${checked} of ${files} spooled files`),
    // To start again would send all that is spooled again, and be refused again.
    refused: (failure) => {
      const reason = `the store refuses the manifest: ${explain(failure)}`
      life.send({ type: 'lost', why: { reason, remedy: failure.remedy ?? null } })
    },
    fatal: self.die,
  })
  const { ledger, committer, room } = opened
  life.send({ type: 'recovered' })

  every(lookMs, clock, () => {
    const reason = ledger.whyLost(input.deadlineMinutes)
    if (reason !== null) life.send({ type: 'lost', why: { reason, remedy: null } })
  })

  self.serve(
    ledgerContract,
    (asker) => {
      const desk = new PermitDesk(permits, asker.id)
      return {
        known: () => ledger.known(),
        present: () => ledger.present(),
        room: ({ bytes }) => ledger.room(asker.id, bytes),
        spooled: (samples) => ledger.spooled(asker.id, samples),
        quarantined: (samples) => ledger.quarantined(samples),
        ...leaseDesk(ledger, desk, asker.id),
        permit: (ask) => desk.ask(ask),
        release: (end) => desk.release(end),
        commit: () => committer.flush(),
        settled: () => ledger.settled(),
        status: () => ({
          ...ledger.status(),
          permits: permits.status,
          gaveUp: life.getSnapshot().context.whyLost,
        }),
      }
    },
    {
      closed: (asker) => {
        permits.askerEnded(asker.id)
        ledger.askerEnded(asker.id)
      },
    },
  )

  self.heeds('upload.maxParallel', (max) => permits.setMax(ledgerRequests(max)))
  self.heeds('commit.every', (every) => committer.follow({ every }))
  self.heeds('commit.seconds', (seconds) => committer.follow({ seconds }))
  self.heeds('spool.maxBytes', (maxBytes) => room.limit({ maxBytes }))
  self.heeds('spool.keepFree', (keepFree) => room.limit({ keepFree }))
  self.live({
    drain: async () => {
      life.send({ type: 'drain' })
      await committer.flush()
      await tidied(opened, { clock, log })
      life.send({ type: 'drained' })
    },
    status: () => ({ work: String(life.getSnapshot().value) }),
  })
}

/** A ledger whose segments are all there has drained, whatever it leaves lying. */
async function tidied(
  { compactor, ledger, manifest }: OpenedLedger,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const tidying = Promise.all([compactor.stop(), manifest.noted(), ledger.sweep()])
  try {
    await within(tidyMs, 'what is put in order at the end', tidying, clock)
  } catch (error) {
    if (!isFailure(error)) throw error
    log.warn({ err: error }, 'all is committed, but not all is put in order')
  }
}
