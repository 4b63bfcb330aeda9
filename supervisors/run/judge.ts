import type { LedgerStatus } from '../../protocol/ledger.ts'
import type { ImporterStatus, ReaderStatus, SourceStatus } from '../../protocol/source.ts'
import { Failure } from '../../src/failure.ts'
import type { RunEvent } from './machine.ts'
import { noUsableRow } from './preflight.ts'

const storeRemedy = 'See the store and its rights; then run again: the spool keeps what waits.'

/** What the words of source and ledger mean for the run, in the order it is to hear of it. */
export const judge = (source: SourceStatus, ledger: LedgerStatus): RunEvent[] => [
  ...judgeStore(ledger),
  ...(source.of === 'rows' ? judgeRows(source) : judgeFiles(source)),
]

const judgeStore = ({ gaveUp }: LedgerStatus): RunEvent[] =>
  gaveUp
    ? [{ type: 'gaveUp', failure: new Failure('unavailable', gaveUp, { remedy: storeRemedy }) }]
    : []

function judgeRows({ batches, outcome, rows, skipped }: ReaderStatus): RunEvent[] {
  if (!outcome) return batches.leased > 0 ? [{ type: 'replayed' }] : []
  const { committed, quarantined, failed } = outcome
  const finished = ended(quarantined + failed > 0)
  if (committed + quarantined + failed > 0) return finished
  // Nothing was ever under way: the dataset is refused like one that the preflight refuses.
  return [{ type: 'gaveUp', failure: noUsableRow(rows, skipped) }, ...finished]
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

/** For whatever reason. */
export const filesLeft = ({ leftAlone }: ImporterStatus): number =>
  Object.values(leftAlone).reduce((sum, files) => sum + files, 0)
