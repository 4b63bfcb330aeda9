import {
  actorsKilledByOrder,
  extractorKilled,
  extractorKilledInRename,
  ledgerKilledAfter,
  ledgerKilledBefore,
  readerKilled,
  uploaderKilled,
} from './actors-killed.ts'
import type { Drill } from './drill.ts'
import { newMachine } from './machine-lost.ts'
import { processAtRandom, processRelaunched } from './process-killed.ts'
import { storeAway } from './store-away.ts'

/** All of them, in the order a sample travels, and what ends all of it last. */
export const drills: readonly Drill[] = [
  readerKilled,
  extractorKilled,
  extractorKilledInRename,
  uploaderKilled,
  ledgerKilledBefore,
  ledgerKilledAfter,
  actorsKilledByOrder,
  storeAway,
  processRelaunched,
  processAtRandom,
  newMachine,
]
