import type { LedgerStatus } from '../protocol/ledger.ts'
import type { ReaderStatus } from '../protocol/reader.ts'
import { Failure } from '../src/failure.ts'
import { noUsableRow } from './preflight.ts'
import type { RunEvent } from './run-machine.ts'

const storeRemedy = 'See the store and its rights; then run again: the spool keeps what waits.'

/** What the ledger's words mean for the run, whatever fills the spool. */
export const judgeStore = ({ gaveUp }: LedgerStatus): RunEvent[] =>
  gaveUp
    ? [{ type: 'gaveUp', failure: new Failure('unavailable', gaveUp, { remedy: storeRemedy }) }]
    : []

/** What the reader's and the ledger's words mean for the run, in the order it is to hear of it. */
export function judge(reader: ReaderStatus, ledger: LedgerStatus): RunEvent[] {
  const events = judgeStore(ledger)
  const { outcome } = reader
  // Nothing was ever under way: the dataset is refused like one that the preflight refuses.
  if (outcome && outcome.committed + outcome.quarantined + outcome.failed === 0) {
    events.push({ type: 'gaveUp', failure: noUsableRow(reader.rows, reader.skipped) })
  }
  if (outcome || reader.batches.leased > 0) events.push({ type: 'replayed' })
  if (!outcome) return events
  const incomplete = outcome.quarantined + outcome.failed > 0
  return [...events, { type: 'finished', incomplete }]
}
