import {
  actorsKilledByOrder,
  extractorKilled,
  extractorKilledInRename,
  ledgerKilledAfter,
  ledgerKilledBefore,
  ledgerKilledInCompaction,
  readerKilled,
  uploaderKilled,
  uploaderKilledInPut,
} from './actors-killed.ts'
import {
  extractorAborts,
  extractorHangs,
  extractorLate,
  extractorMemory,
  extractorProcessAborts,
  extractorProcessMemory,
  poisonSample,
  restartStorm,
} from './batches.ts'
import { diskSmall } from './disk-small.ts'
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
import { trainingsTerminated } from './training-terminated.ts'
import { twoSupervisors } from './two-supervisors.ts'

/** All of them, in the order a sample travels, and what ends all of it last. */
export const drills: readonly Drill[] = [
  readerKilled,
  extractorKilled,
  extractorKilledInRename,
  extractorAborts,
  extractorMemory,
  extractorProcessAborts,
  extractorProcessMemory,
  extractorHangs,
  poisonSample,
  extractorLate,
  restartStorm,
  spoolTorn,
  spoolGone,
  spoolReadOnly,
  diskSmall,
  diskFull,
  uploaderKilled,
  uploaderKilledInPut,
  ledgerKilledBefore,
  ledgerKilledAfter,
  ledgerKilledInCompaction,
  actorsKilledByOrder,
  storeAway,
  ...storeTroubles,
  storeDenies,
  credentialsExpire,
  clockBack,
  ...refusals,
  ...trainings,
  ...trainingsTerminated,
  twoSupervisors,
  ...sigterms,
  processRelaunched,
  processAtRandom,
  newMachine,
]
