import { type ActorRefFrom, assign, fromPromise, setup, stateIn, waitFor } from 'xstate'
import { type Failure, isFailure } from '../../src/failure.ts'
import type { TrainingBatch } from '../../src/feed/training-batch.ts'

/**
 * The life of a trainer: it restores what was saved, gathers the batches of a step, computes it,
 * looks at held-out samples now and then, and gathers again. Told to drain, it ends the step it
 * computes and begins none. What another start would meet again is for a person to change: it
 * does nothing more then; any other error ends the thread. What each state does is given by
 * `worker.ts`.
 */

/** What was gathered for a step. */
export type Gathered =
  | { readonly kind: 'step'; readonly batches: readonly TrainingBatch[] }
  /** Not all of it is there yet. */
  | { readonly kind: 'later' }
  /** All epochs are over. */
  | { readonly kind: 'finished' }

const notGiven = fromPromise<never, never>(() => Promise.reject(new Error('a step is not given')))

interface Context {
  readonly startsPaused: boolean
  readonly batches: readonly TrainingBatch[]
  readonly failure: Failure | null
}

/** A configuration, a checkpoint or data that cannot be trained with. */
const isLasting = (error: unknown): error is Failure =>
  isFailure(error, 'invalid') || isFailure(error, 'corrupt')

const failing = {
  guard: ({ event }: { event: { readonly error: unknown } }) => isLasting(event.error),
  target: 'failed',
  actions: {
    type: 'keep',
    params: ({ event: { error } }: { event: { readonly error: unknown } }) => error,
  },
} as const

export const trainerMachine = setup({
  types: {
    context: {} as Context,
    events: {} as { type: 'drain' } | { type: 'pause' } | { type: 'continue' },
    input: {} as { readonly paused: boolean },
  },
  actors: {
    restore: notGiven as ReturnType<typeof fromPromise<void, void>>,
    gather: notGiven as ReturnType<typeof fromPromise<Gathered, void>>,
    /** Whether held-out samples are to be looked at. */
    compute: notGiven as ReturnType<typeof fromPromise<boolean, readonly TrainingBatch[]>>,
    measure: notGiven as ReturnType<typeof fromPromise<void, void>>,
  },
  actions: {
    keep: assign((_, error: unknown) => ({ failure: isLasting(error) ? error : null })),
  },
  guards: {
    told: stateIn({ stop: 'told' }),
    free: stateIn({ pace: 'free' }),
    startsPaused: ({ context }) => context.startsPaused,
  },
}).createMachine({
  type: 'parallel',
  context: ({ input }) => ({ startsPaused: input.paused, batches: [], failure: null }),
  states: {
    stop: { initial: 'no', states: { no: { on: { drain: 'told' } }, told: {} } },
    pace: {
      initial: 'begun',
      states: {
        begun: { always: [{ guard: 'startsPaused', target: 'paused' }, { target: 'free' }] },
        free: { on: { pause: 'paused' } },
        paused: { on: { continue: 'free' } },
      },
    },
    work: {
      initial: 'resting',
      states: {
        /** Nothing of the training is read before it may begin. */
        resting: {
          always: [
            { guard: 'told', target: 'drained' },
            { guard: 'free', target: 'restoring' },
          ],
        },
        restoring: { invoke: { src: 'restore', onDone: 'gathering', onError: failing } },
        gathering: {
          always: { guard: 'told', target: 'drained' },
          invoke: {
            src: 'gather',
            onDone: [
              {
                guard: ({ event }) => event.output.kind === 'step',
                target: 'ready',
                actions: assign({
                  batches: ({ event }) =>
                    event.output.kind === 'step' ? event.output.batches : [],
                }),
              },
              { guard: ({ event }) => event.output.kind === 'finished', target: 'judging' },
              { target: 'gathering', reenter: true },
            ],
            onError: failing,
          },
        },
        /** The batches of a step are there. */
        ready: {
          always: [
            { guard: 'told', target: 'drained' },
            { guard: 'free', target: 'computing' },
          ],
        },
        computing: {
          invoke: {
            src: 'compute',
            input: ({ context }) => context.batches,
            onDone: [
              { guard: ({ event }) => event.output, target: 'measuring' },
              { target: 'gathering' },
            ],
            onError: failing,
          },
          exit: assign({ batches: [] }),
        },
        measuring: { invoke: { src: 'measure', onDone: 'gathering', onError: failing } },
        /** The last look, at what the whole training has come to. */
        judging: { invoke: { src: 'measure', onDone: 'finished', onError: failing } },
        /** Told to drain, it stays so: whoever asks at the end of the run is to hear of it. */
        finished: { type: 'final' },
        /** The run hears of it, and ends. */
        failed: { always: { guard: 'told', target: 'drained' } },
        drained: { type: 'final' },
      },
    },
  },
})

/** Settles when a trainer that was told to drain does nothing more. */
export const hasDrained = (life: ActorRefFrom<typeof trainerMachine>): Promise<unknown> =>
  waitFor(
    life,
    (state) => state.matches({ work: 'drained' }) || state.matches({ work: 'finished' }),
  )
