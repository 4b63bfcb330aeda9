/** Peers on the test's own thread, over real ports. */
import type { TestContext } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { serve } from '../../protocol/channel.ts'
import { checkpointerContract } from '../../protocol/checkpointer.ts'
import type { Contract, Handlers } from '../../protocol/contract.ts'
import { type ledgerContract as LedgerContract, ledgerContract } from '../../protocol/ledger.ts'
import { loaderContract } from '../../protocol/loader.ts'
import { Peer } from '../../protocol/peer.ts'
import type { NextBatch } from '../../protocol/reader.ts'
import { readerContract } from '../../protocol/reader.ts'
import type { SourceStatus } from '../../protocol/source.ts'
import { trainerContract } from '../../protocol/trainer.ts'
import { type Clock, systemClock } from '../../src/clock.ts'

/** A peer that answers by these; what a test does not expect to be asked is refused by its name. */
export function peerTo<C extends Contract>(
  t: TestContext,
  peer: Peer<C>,
  { contract, handlers }: { readonly contract: C; readonly handlers: Handlers<C> },
): Peer<C> {
  const { port1, port2 } = new MessageChannel()
  serve(port2, contract, handlers)
  peer.attach(port1, 1)
  t.after(() => peer.close())
  return peer
}

export const unasked = (request: string) => (): never => {
  throw new Error(`nobody expected to be asked this. request=${request}`)
}

export const ledgerHandlers = (
  handlers: Partial<Handlers<typeof LedgerContract>>,
): Handlers<typeof LedgerContract> => ({
  known: unasked('known'),
  present: unasked('present'),
  room: unasked('room'),
  spooled: unasked('spooled'),
  quarantined: unasked('quarantined'),
  next: unasked('next'),
  commit: unasked('commit'),
  wake: unasked('wake'),
  permit: unasked('permit'),
  release: unasked('release'),
  stored: unasked('stored'),
  unavailable: unasked('unavailable'),
  failed: unasked('failed'),
  torn: unasked('torn'),
  settled: unasked('settled'),
  status: unasked('status'),
  ...handlers,
})

/** @param clock  by which the asker loses patience */
export const ledgerPeer = (
  t: TestContext,
  handlers: Partial<Handlers<typeof LedgerContract>>,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Peer<typeof LedgerContract> =>
  peerTo(t, new Peer('ledger', ledgerContract, { clock }), {
    contract: ledgerContract,
    handlers: ledgerHandlers(handlers),
  })

export const readerPeer = (
  t: TestContext,
  handlers: {
    readonly next?: () => NextBatch
    readonly done?: (ask: { batch: string }) => void
    readonly status?: () => SourceStatus | Promise<SourceStatus>
  },
): Peer<typeof readerContract> =>
  peerTo(t, new Peer('reader', readerContract), {
    contract: readerContract,
    handlers: {
      next: unasked('next'),
      done: unasked('done'),
      pause: unasked('pause'),
      status: unasked('status'),
      ...handlers,
    },
  })

/** Those that train together. */
export const trainingPeers = (
  t: TestContext,
  handlers: {
    readonly loader?: Partial<Handlers<typeof loaderContract>>
    readonly trainer?: Partial<Handlers<typeof trainerContract>>
    readonly checkpointer?: Partial<Handlers<typeof checkpointerContract>>
  },
) => ({
  loader: peerTo(t, new Peer('loader', loaderContract), {
    contract: loaderContract,
    handlers: {
      begin: unasked('begin'),
      next: unasked('next'),
      heldOut: unasked('heldOut'),
      record: unasked('record'),
      extractionEnded: unasked('extractionEnded'),
      status: unasked('status'),
      ...handlers.loader,
    },
  }),
  trainer: peerTo(t, new Peer('trainer/0', trainerContract), {
    contract: trainerContract,
    handlers: {
      state: unasked('state'),
      pause: unasked('pause'),
      status: unasked('status'),
      ...handlers.trainer,
    },
  }),
  checkpointer: peerTo(t, new Peer('checkpointer', checkpointerContract), {
    contract: checkpointerContract,
    handlers: {
      save: unasked('save'),
      restore: unasked('restore'),
      status: unasked('status'),
      ...handlers.checkpointer,
    },
  }),
})
