import { assign, setup } from 'xstate'

/**
 * A child as its supervisor sees it, be it one actor or a whole supervisor. It decides nothing: it
 * says what may follow on what, and holds the wait for the next start.
 *
 *     due ──► starting ──► running ──► draining
 *      ▲         │            │            │      any of them ──► stopped, abandoned
 *      │         ▼            ▼            ▼
 *      └──────── crashed: waits for its backoff
 *
 * `due` also after its end with its siblings: it waits for its turn to start again.
 */
export type ChildEvent =
  | { readonly type: 'start' }
  | { readonly type: 'ready' }
  | { readonly type: 'drain' }
  /** It is gone, and may start again after the delay. */
  | { readonly type: 'crashed'; readonly delayMs: number }
  /** It was ended so that it can start again with its siblings. */
  | { readonly type: 'ended' }
  /** It is gone, or never was, and does not come back by itself. */
  | { readonly type: 'stopped' }
  | { readonly type: 'abandoned' }
  /** It may start after all: someone asked for it, or its supervisor begins anew. */
  | { readonly type: 'renewed' }

type Crashed = Extract<ChildEvent, { type: 'crashed' }>

const crashed = {
  target: 'crashed',
  actions: { type: 'remember', params: ({ event }: { event: Crashed }) => event },
} as const
const over = { stopped: 'stopped', abandoned: 'abandoned' } as const

export const childMachine = setup({
  types: { context: {} as { delayMs: number }, events: {} as ChildEvent },
  actions: { remember: assign((_, { delayMs }: Crashed) => ({ delayMs })) },
  delays: { backoff: ({ context }) => context.delayMs },
}).createMachine({
  id: 'child',
  initial: 'due',
  context: { delayMs: 0 },
  states: {
    due: { on: { start: 'starting', ...over } },
    starting: { on: { ready: 'running', drain: 'draining', ended: 'due', crashed, ...over } },
    running: { on: { drain: 'draining', ended: 'due', crashed, ...over } },
    draining: { on: { ended: 'due', crashed, ...over } },
    crashed: { after: { backoff: 'due' }, on: { renewed: 'due', ...over } },
    stopped: { on: { renewed: 'due' } },
    abandoned: { on: { renewed: 'due', stopped: 'stopped' } },
  },
})
