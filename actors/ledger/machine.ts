import { assign, setup } from 'xstate'
import type { GaveUp } from '../../protocol/ledger.ts'

type Lost = { readonly type: 'lost'; readonly why: GaveUp }

const note = {
  type: 'note',
  params: ({ event }: { readonly event: Lost }) => event,
} as const

/** The life of the ledger, rebuilt at each start from the store and the spool. No I/O. */
export const ledgerMachine = setup({
  types: {
    context: {} as { readonly whyLost: GaveUp | null },
    events: {} as
      | { type: 'replayed' }
      | { type: 'recovered' }
      /** The store takes nothing for as long as is allowed, or refuses the manifest for good. */
      | Lost
      | { type: 'drain' }
      | { type: 'drained' },
  },
  actions: { note: assign((_, { why }: Lost) => ({ whyLost: why })) },
}).createMachine({
  context: { whyLost: null },
  initial: 'replaying',
  states: {
    /** Reads what the manifest says was committed. */
    replaying: { on: { replayed: 'recovering' } },
    /** Reads what a crash left in the spool. */
    recovering: { on: { recovered: 'serving' } },
    serving: { on: { lost: { target: 'lost', actions: note }, drain: 'draining' } },
    /** The run saves what it can and gives up; the spool keeps the rest. */
    lost: { on: { drain: 'draining' } },
    /** The last segment may be refused as any other. */
    draining: { on: { lost: { actions: note }, drained: 'closed' } },
    closed: { type: 'final' },
  },
})
