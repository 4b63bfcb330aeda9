import { setup } from 'xstate'

/** The life of the ledger, rebuilt at each start from the store and the spool. No I/O. */
export const ledgerMachine = setup({
  types: {
    events: {} as
      | { type: 'replayed' }
      | { type: 'recovered' }
      /** No answer from the store for as long as the configuration allows. */
      | { type: 'outOfReach' }
      | { type: 'drain' }
      | { type: 'drained' },
  },
}).createMachine({
  initial: 'replaying',
  states: {
    /** Reads what the manifest says was committed. */
    replaying: { on: { replayed: 'recovering' } },
    /** Reads what a crash left in the spool. */
    recovering: { on: { recovered: 'serving' } },
    serving: { on: { outOfReach: 'outOfReach', drain: 'draining' } },
    /** The run saves what it can and gives up; the spool keeps the rest. */
    outOfReach: { on: { drain: 'draining' } },
    draining: { on: { drained: 'closed' } },
    closed: { type: 'final' },
  },
})
