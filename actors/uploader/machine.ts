import { assign, initialTransition, type SnapshotFrom, setup, transition } from 'xstate'

/**
 * The life of one upload; a thread runs many. No I/O here: `upload.ts` does what a state asks for.
 * What may pass is tried again beneath, by the store's own retries; here it is over.
 */

export type UploadEvent =
  /** The file is what its name says, or has its length and is left to the store to sum. */
  | { type: 'intact' }
  /** It is not; before a put, or found out by what the store said of one. */
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
    putting: {
      entry: 'count',
      on: { acknowledged: 'confirming', differs: 'damaged', torn: 'torn' },
    },
    confirming: { on: { confirmed: 'stored', differs: 'damaged', torn: 'torn' } },
    damaged: { always: [{ guard: 'putsAreLeft', target: 'putting' }, { target: 'returned' }] },
    stored: { type: 'final' },
    torn: { type: 'final' },
    failed: { type: 'final' },
    /** To the ledger's queue: for later, or for another uploader. */
    returned: { type: 'final' },
  },
})

/** Where an upload stands; never changed, so that uploads in one state share it. */
export type UploadLife = SnapshotFrom<typeof uploadMachine>

/** @param puts  as the machine's input */
export function beginUpload(puts: number): UploadLife {
  const known = begun.get(puts)
  if (known) return known
  const [life] = initialTransition(uploadMachine, { puts })
  begun.set(puts, life)
  return life
}

/**
 * The state after an event. Without timers or effects the machine has but a few, each computed
 * once: an actor of xstate's own for each upload took a tenth of the upload's processor time
 * (measured).
 */
export function afterEvent(life: UploadLife, type: UploadEvent['type']): UploadLife {
  const known = after.get(life) ?? new Map<UploadEvent['type'], UploadLife>()
  after.set(life, known)
  const found = known.get(type)
  if (found) return found
  const [next] = transition(uploadMachine, life, { type })
  known.set(type, next)
  return next
}

const begun = new Map<number, UploadLife>()
const after = new Map<UploadLife, Map<UploadEvent['type'], UploadLife>>()
