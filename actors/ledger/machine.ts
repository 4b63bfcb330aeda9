import { assign, setup } from 'xstate'
import type { GaveUp } from '../../protocol/ledger.ts'

/** The life of the ledger, rebuilt at each start from the store and the spool. No I/O. */
export const ledgerMachine = setup({
  types: {
    context: {} as { readonly whyLost: GaveUp | null },
    events: {} as
      | { type: 'replayed' }
      | { type: 'recovered' }
      /** The store takes nothing for as long as is allowed, or refuses the manifest for good. */
      | { type: 'lost'; why: GaveUp }
      | { type: 'drain' }
      | { type: 'drained' },
  },
}).createMachine({
  context: { whyLost: null },
  initial: 'replaying',
  states: {
    /** Reads what the manifest says was committed. */
    replaying: { on: { replayed: 'recovering' } },
    /** Reads what a crash left in the spool. */
    recovering: { on: { recovered: 'serving' } },
    serving: {
      on: {
        lost: {
          target: 'lost',
          actions: assign({ whyLost: ({ event }) => event.why }),
        },
        drain: 'draining',
      },
    },
    /** The run saves what it can and gives up; the spool keeps the rest. */
    lost: { on: { drain: 'draining' } },
    draining: { on: { drained: 'closed' } },
    closed: { type: 'final' },
  },
})
