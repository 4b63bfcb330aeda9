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
  /** What an earlier run has spooled is sent from now on. */
  | { type: 'begun' }
  /** The manifest was replayed; work is given out. */
  | { type: 'replayed' }
  | { type: 'pause' }
  | { type: 'continue' }
  /** Every row has come to its end. */
  | { type: 'finished'; incomplete: boolean }
  /** A signal or a person: resumable. */
  | { type: 'stop'; code: number }
  /** Restart intensity exceeded, or a store that is out of reach, or refuses for good. */
  | { type: 'gaveUp'; failure: Failure }
  /** What was told to drain could not: something of this run is not kept. */
  | { type: 'undrained'; failure: Failure }
  /** There is nothing to work on, and nothing was done. */
  | { type: 'refused'; failure: Failure }
  | { type: 'drained' }

interface Ending {
  readonly code: number
  readonly failure: Failure | null
}

interface Life extends Ending {
  /**
   * What a failure ends the run with that is for a person to change: like a preflight that found
   * it, until the first sample may be sent. From then on it is giving up, whatever the reason.
   */
  readonly codeOfInvalid: number
}

const givenUp = ({ kind }: Failure, { codeOfInvalid }: Life): number => {
  if (kind === 'superseded') return exitCodes.held
  return kind === 'unavailable' ? exitCodes.gaveUp : codeOfInvalid
}

type GaveUp = Extract<RunEvent, { type: 'gaveUp' | 'undrained' }>
const giveUp = {
  type: 'end',
  params: ({ context, event: { failure } }: { context: Life; event: GaveUp }) => ({
    code: givenUp(failure, context),
    failure,
  }),
} as const

export const runMachine = setup({
  types: { context: {} as Life, events: {} as RunEvent },
  actions: {
    end: assign((_, ending: Ending) => ending),
    begin: assign({ codeOfInvalid: exitCodes.gaveUp }),
  },
}).createMachine({
  context: { code: exitCodes.done, failure: null, codeOfInvalid: exitCodes.refused },
  initial: 'preflight',
  on: {
    stop: {
      target: '.draining',
      actions: { type: 'end', params: ({ event }) => ({ code: event.code, failure: null }) },
    },
    begun: { actions: 'begin' },
    gaveUp: { target: '.draining', actions: giveUp },
    refused: {
      target: '.draining',
      actions: {
        type: 'end',
        params: ({ event: { failure } }) => ({ code: exitCodes.refused, failure }),
      },
    },
  },
  states: {
    preflight: { on: { checked: 'replaying' } },
    replaying: { on: { replayed: 'running' } },
    running: {
      initial: 'active',
      on: {
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
        refused: {},
        gaveUp: { actions: giveUp },
        // Of a run that has finished all was kept before; of one that gave up it is told why.
        undrained: {
          guard: ({ context: { code, failure } }) =>
            failure === null && code > exitCodes.incomplete,
          actions: giveUp,
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
