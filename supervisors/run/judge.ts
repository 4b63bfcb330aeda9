import type { LedgerStatus } from '../../protocol/ledger.ts'
import {
  filesLeft,
  type ImporterStatus,
  type ReaderStatus,
  type SourceStatus,
} from '../../protocol/source.ts'
import { Failure } from '../../src/failure.ts'
import type { RunEvent } from './machine.ts'
import { noUsableRow } from './preflight.ts'

const seeStore = 'See the store and its rights.'
const goOn = 'Then run again: the spool keeps what waits.'

/** What the words of source and ledger mean for the run, in the order it is to hear of it. */
export const judge = (source: SourceStatus, ledger: LedgerStatus): RunEvent[] => [
  ...judgeStore(ledger),
  ...(source.of === 'rows' ? judgeRows(source, ledger) : judgeFiles(source)),
]

function judgeStore({ gaveUp }: LedgerStatus): RunEvent[] {
  if (!gaveUp) return []
  const remedy = `${gaveUp.remedy ?? seeStore} ${goOn}`
  return [{ type: 'gaveUp', failure: new Failure('unavailable', gaveUp.reason, { remedy }) }]
}

function judgeRows(source: ReaderStatus, ledger: LedgerStatus): RunEvent[] {
  const { batches, outcome, rows, skipped } = source
  if (!outcome) return batches.leased > 0 ? [{ type: 'replayed' }] : []
  const { committed, quarantined, failed } = outcome
  if (committed + quarantined + failed > 0) return ended(quarantined + failed > 0)
  // The dataset is refused like one that the preflight refuses, unless the spool held what another
  // had left.
  const type = ledger.stored.samples + ledger.segments > 0 ? 'gaveUp' : 'refused'
  return [{ type, failure: noUsableRow(rows, skipped) }]
}

/** Whole is an import of which every file was taken, or was there before. */
function judgeFiles(source: ImporterStatus): RunEvent[] {
  const { inHand, outcome } = source
  if (!outcome) return inHand > 0 ? [{ type: 'replayed' }] : []
  return ended(outcome.failed + filesLeft(source) > 0)
}

const ended = (incomplete: boolean): RunEvent[] => [
  { type: 'replayed' },
  { type: 'finished', incomplete },
]
