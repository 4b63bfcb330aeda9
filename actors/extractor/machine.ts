import { assign, fromPromise, setup, stateIn } from 'xstate'
import type { NextBatch } from '../../protocol/reader.ts'
import type { Batch, QuarantinedSample, SampleRef } from '../../protocol/sample.ts'

/**
 * The life of an extractor: it asks, waits for room, computes, tells, and asks again. Told to
 * drain, it ends the batch it computes and asks no more. What each step does is given by
 * `worker.ts`.
 */

/** What became of a batch's wanted rows. */
export interface Extracted {
  readonly batch: string
  readonly spooled: readonly SampleRef[]
  readonly quarantined: readonly QuarantinedSample[]
}

const notGiven = fromPromise<never, never>(() => Promise.reject(new Error('a step is not given')))

export const extractorMachine = setup({
  types: {
    context: {} as { readonly batch: Batch | null; readonly extracted: Extracted | null },
    events: {} as { type: 'drain' },
  },
  actors: {
    ask: notGiven as ReturnType<typeof fromPromise<NextBatch, void>>,
    room: notGiven as ReturnType<typeof fromPromise<boolean, Batch>>,
    compute: notGiven as ReturnType<typeof fromPromise<Extracted, Batch>>,
    tell: notGiven as ReturnType<typeof fromPromise<void, Extracted>>,
  },
  guards: { told: stateIn({ stop: 'told' }) },
}).createMachine({
  type: 'parallel',
  context: { batch: null, extracted: null },
  states: {
    stop: { initial: 'no', states: { no: { on: { drain: 'told' } }, told: {} } },
    work: {
      initial: 'asking',
      states: {
        asking: {
          always: { guard: 'told', target: 'drained' },
          invoke: {
            src: 'ask',
            onDone: [
              {
                guard: ({ event }) => event.output.kind === 'batch',
                target: 'waitingForRoom',
                actions: assign({
                  batch: ({ event }) => (event.output.kind === 'batch' ? event.output.batch : null),
                }),
              },
              { guard: ({ event }) => event.output.kind === 'finished', target: 'finished' },
              { target: 'asking', reenter: true },
            ],
          },
        },
        waitingForRoom: {
          always: { guard: 'told', target: 'drained' },
          invoke: {
            src: 'room',
            input: ({ context }) => held(context.batch),
            onDone: [
              { guard: ({ event }) => event.output, target: 'computing' },
              { target: 'waitingForRoom', reenter: true },
            ],
          },
        },
        computing: {
          invoke: {
            src: 'compute',
            input: ({ context }) => held(context.batch),
            onDone: {
              target: 'telling',
              actions: assign({ batch: null, extracted: ({ event }) => event.output }),
            },
          },
        },
        telling: {
          invoke: {
            src: 'tell',
            input: ({ context }) => held(context.extracted),
            onDone: { target: 'asking', actions: assign({ extracted: null }) },
          },
        },
        // Asked again now and then: a reader that has restarted finds the end by being asked.
        finished: { always: { guard: 'told', target: 'drained' }, after: { 1000: 'asking' } },
        drained: { type: 'final' },
      },
    },
  },
})

function held<T>(thing: T | null): T {
  if (thing === null) throw new Error('this state holds nothing')
  return thing
}
