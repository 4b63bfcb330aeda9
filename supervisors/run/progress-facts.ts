import type { RunStatus } from '../../protocol/console.ts'
import type { SourceStatus } from '../../protocol/source.ts'

/** How far a run is, for a line of the log. */
export function progressFacts({ state, source, ledger, speed }: RunStatus) {
  return {
    state,
    ...(source && sourceFacts(source)),
    committed: ledger?.committed,
    spooled: ledger?.spool.files,
    samplesPerSecond: Math.round(speed.spooled.samplesPerSecond),
    tokensPerSecond: Math.round(speed.spooled.tokensPerSecond),
    etaSeconds: speed.etaSeconds && Math.round(speed.etaSeconds),
  }
}

function sourceFacts(source: SourceStatus) {
  if (source.of === 'rows') return { rows: source.rows, rowsDone: source.rowsDone }
  return { files: source.files, filesDone: source.examined - source.inHand }
}
