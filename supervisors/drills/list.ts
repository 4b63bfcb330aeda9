import {
  actorsKilledByOrder,
  extractorKilled,
  extractorKilledInRename,
  ledgerKilledAfter,
  ledgerKilledBefore,
  readerKilled,
  uploaderKilled,
} from './actors-killed.ts'
import {
  extractorAborts,
  extractorHangs,
  extractorLate,
  extractorProcessAborts,
  extractorProcessMemory,
  poisonSample,
  restartStorm,
} from './batches.ts'
import type { Drill } from './drill.ts'
import { newMachine } from './machine-lost.ts'
import { processAtRandom, processRelaunched } from './process-killed.ts'
import { refusals } from './refused.ts'
import { sigterms } from './signals.ts'
import { diskFull, spoolGone, spoolReadOnly, spoolTorn } from './spool-harmed.ts'
import { storeAway } from './store-away.ts'
import { storeDenies, storeTroubles } from './store-troubled.ts'
import { clockBack, credentialsExpire } from './surroundings.ts'
import { trainings } from './training.ts'
import { twoSupervisors } from './two-supervisors.ts'

/** All of them, in the order a sample travels, and what ends all of it last. */
export const drills: readonly Drill[] = [
  readerKilled,
  extractorKilled,
  extractorKilledInRename,
  extractorAborts,
  extractorProcessAborts,
  extractorProcessMemory,
  extractorHangs,
  poisonSample,
  extractorLate,
  restartStorm,
  spoolTorn,
  spoolGone,
  spoolReadOnly,
  diskFull,
  uploaderKilled,
  ledgerKilledBefore,
  ledgerKilledAfter,
  actorsKilledByOrder,
  storeAway,
  ...storeTroubles,
  storeDenies,
  credentialsExpire,
  clockBack,
  ...refusals,
  ...trainings,
  twoSupervisors,
  ...sigterms,
  processRelaunched,
  processAtRandom,
  newMachine,
]
