import { setup } from 'xstate'

/**
 * The life of a checkpointer, rebuilt at each start: nothing of it is kept but what is in the
 * store. No I/O: `saver.ts` does what a state asks for.
 *
 *     idle → capturing → sending → pruning → idle
 *               └─────┬─────┘
 *                   failed → waiting → capturing; after the deadline: lost
 *     capturing → lost: what was trained is unsound, and stays so
 *
 * Who asks while a save is under way waits for the next, which begins from `idle`.
 */
export const checkpointerMachine = setup({
  types: {
    events: {} as
      /** Its time has come, someone asks, or the trainer has drained. */
        | { type: 'wanted' }
        | { type: 'captured' }
        /** Nothing to save, or nothing that is not saved. */
        | { type: 'nothing' }
        /** What was captured can never be gone on from. */
        | { type: 'unsound' }
        | { type: 'stored' }
        | { type: 'pruned' }
        | { type: 'failed' }
        /** It was waited long enough after a failure. */
        | { type: 'again' }
        /** Every try has failed for as long as is allowed. */
        | { type: 'late' }
        /** It has drained. */
        | { type: 'close' },
  },
}).createMachine({
  initial: 'idle',
  states: {
    idle: { on: { wanted: 'capturing', close: 'closed' } },
    /** The trainer is asked for a copy of its state. */
    capturing: {
      on: { captured: 'sending', nothing: 'idle', unsound: 'lost', failed: 'waiting' },
    },
    /** The copy is on its way into the store. Training goes on. */
    sending: { on: { stored: 'pruning', failed: 'waiting' } },
    /** Checkpoints that are kept no longer are removed. */
    pruning: { on: { pruned: 'idle' } },
    /** The store, or the trainer, gets some time. */
    waiting: { on: { again: 'capturing', late: 'lost' } },
    /** The training is to end; what was saved before stays. The end of a drain hears of it too. */
    lost: {},
    closed: { type: 'final' },
  },
})
