import { assign, setup } from 'xstate'
import type { Failure } from '../../src/failure.ts'

/**
 * The life of a run, as its process sees it:
 *
 *     preflight → replaying → running → draining → done | stopped | gaveUp
 *
 * No I/O: `run.ts` does what a state asks for, and tells what came of it.
 */

/** Promise 7 of the design; signals add 129, 130 and 143. */
export const exitCodes = {
  done: 0,
  incomplete: 1,
  refused: 2,
  held: 3,
  gaveUp: 4,
  stopped: 5,
  /** Not for people to tell apart: the launcher starts the run again. */
  bug: 70,
} as const

export type RunEvent =
  /** Configuration, store, target and locks are in order; the tree may start. */
  | { type: 'checked' }
  /** The manifest was replayed; work is given out. */
  | { type: 'replayed' }
  | { type: 'pause' }
  | { type: 'continue' }
  /** Every row has come to its end. */
  | { type: 'finished'; incomplete: boolean }
  /** A signal or a person: resumable. */
  | { type: 'stop'; code: number }
  /** Restart intensity exceeded, or the store out of reach past its deadline. */
  | { type: 'gaveUp'; failure: Failure }
  | { type: 'drained' }

interface Ending {
  readonly code: number
  readonly failure: Failure | null
}

/**
 * What cannot pass by waiting is for a person to change: it ends like a preflight that found it.
 */
const codeOf = ({ kind }: Failure): number => {
  if (kind === 'superseded') return exitCodes.held
  return kind === 'unavailable' ? exitCodes.gaveUp : exitCodes.refused
}

export const runMachine = setup({
  types: { context: {} as Ending, events: {} as RunEvent },
  actions: {
    end: assign((_, ending: Ending) => ending),
  },
}).createMachine({
  context: { code: exitCodes.done, failure: null },
  initial: 'preflight',
  on: {
    stop: {
      target: '.draining',
      actions: { type: 'end', params: ({ event }) => ({ code: event.code, failure: null }) },
    },
    gaveUp: {
      target: '.draining',
      actions: {
        type: 'end',
        params: ({ event: { failure } }) => ({ code: codeOf(failure), failure }),
      },
    },
  },
  states: {
    preflight: { on: { checked: 'replaying' } },
    replaying: { on: { replayed: 'running' } },
    running: {
      initial: 'active',
      on: {
        // Something was under way: whatever the reason, this is giving up.
        gaveUp: {
          target: 'draining',
          actions: {
            type: 'end',
            params: ({ event: { failure } }) => ({
              code: failure.kind === 'superseded' ? exitCodes.held : exitCodes.gaveUp,
              failure,
            }),
          },
        },
        finished: {
          target: 'draining',
          actions: {
            type: 'end',
            params: ({ event }) => ({
              code: event.incomplete ? exitCodes.incomplete : exitCodes.done,
              failure: null,
            }),
          },
        },
      },
      states: {
        active: { on: { pause: 'paused' } },
        paused: { on: { continue: 'active' } },
      },
    },
    draining: {
      on: {
        // What began the drain decides; only giving up outweighs it.
        stop: {},
        gaveUp: {
          actions: {
            type: 'end',
            params: ({ event: { failure } }) => ({ code: codeOf(failure), failure }),
          },
        },
        drained: [
          { guard: ({ context }) => context.failure !== null, target: 'gaveUp' },
          { guard: ({ context }) => context.code <= exitCodes.incomplete, target: 'done' },
          { target: 'stopped' },
        ],
      },
    },
    done: { type: 'final' },
    stopped: { type: 'final' },
    gaveUp: { type: 'final' },
  },
})
