import { assign, setup } from 'xstate'

/**
 * The life of one upload; a thread runs many. No I/O here: `upload.ts` does what a state asks for.
 * What may pass is tried again beneath, by the store's own retries; here it is over.
 */

export type UploadEvent =
  /** The file is what its name says. */
  | { type: 'intact' }
  | { type: 'torn' }
  /** The store answered that it has the object. */
  | { type: 'acknowledged' }
  /** Its checksum, its ETag or its bytes agree with ours. */
  | { type: 'confirmed' }
  /** What the store holds is not what was sent. */
  | { type: 'differs' }
  | { type: 'unavailable' }
  | { type: 'refused' }

export const uploadMachine = setup({
  types: {
    context: {} as { readonly putsMade: number; readonly puts: number },
    events: {} as UploadEvent,
    /** How often it is put where the store holds something else each time. */
    input: {} as { readonly puts: number },
  },
  actions: { count: assign({ putsMade: ({ context }) => context.putsMade + 1 }) },
  guards: { putsAreLeft: ({ context }) => context.putsMade < context.puts },
}).createMachine({
  context: ({ input }) => ({ puts: input.puts, putsMade: 0 }),
  initial: 'checking',
  on: { unavailable: '.returned', refused: '.failed' },
  states: {
    checking: { on: { intact: 'putting', torn: 'torn' } },
    putting: { entry: 'count', on: { acknowledged: 'confirming', differs: 'damaged' } },
    confirming: { on: { confirmed: 'stored', differs: 'damaged' } },
    damaged: { always: [{ guard: 'putsAreLeft', target: 'putting' }, { target: 'returned' }] },
    stored: { type: 'final' },
    torn: { type: 'final' },
    failed: { type: 'final' },
    /** To the ledger's queue: for later, or for another uploader. */
    returned: { type: 'final' },
  },
})
