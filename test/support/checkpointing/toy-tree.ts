import { join } from 'node:path'
import { checkpointer } from '../../../actors/checkpointer/index.ts'
import { ledger } from '../../../actors/ledger/index.ts'
import type { ChildSpec, SupervisorSpec } from '../../../protocol/child.ts'
import type { RetainRule } from '../../../src/checkpoint/retain.ts'
import type { StorePlace } from '../../../src/store/patient.ts'
import { supervisor } from '../trees.ts'
import type { ToyInput } from './toy-contract.ts'

/** A ledger for its permits, the checkpointer, and the toy that trains. */

export interface ToyTraining {
  readonly work: string
  readonly place: StorePlace
  readonly keep: RetainRule
  /** Default: of more than one part, and twice that with its moments. */
  readonly size?: number
  readonly maxParallel?: number
}

const MiB = 2 ** 20
/** The least that S3 takes: so that a small toy goes in parts. */
const partSizes = { wholeBytesMax: MiB, partBytes: 5 * MiB }

export const notesIn = (work: string): string => join(work, 'steps.jsonl')

export const toyTree = (of: ToyTraining): SupervisorSpec => {
  const { work, place, keep, size = 1_400_000, maxParallel = 8 } = of
  return supervisor('root', [
    ledger(
      {
        work,
        store: place,
        attempts: 10,
        maxParallel,
        deadlineMinutes: 30,
        commit: { every: 1000, seconds: 10 },
        spool: { keepFree: 0, maxBytes: MiB },
        retry: new Map(),
      },
      { drainsAfter: ['checkpointer'], writers: [], holders: ['checkpointer'] },
    ),
    checkpointer({
      trainer: 'trainer',
      store: place,
      attempts: 10,
      everyMinutes: 60,
      deadlineMinutes: 30,
      keep,
      partSizes,
    }),
    toy({ training: 'toy', size, notes: notesIn(work) }),
  ])
}

const toy = (input: ToyInput): ChildSpec => ({
  id: 'trainer',
  entry: new URL('./toy-trainer.js', import.meta.url),
  input,
  asks: ['checkpointer'],
  restart: 'always',
  readyMs: 60_000,
  drainMs: 10_000,
  drainsAfter: [],
  heartbeatMs: 20_000,
})
