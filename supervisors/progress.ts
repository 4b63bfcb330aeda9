import { count, eta, perSecond } from '../actors/console/text.ts'
import type { RunStatus } from '../protocol/console.ts'
import { formatBytes } from '../src/config/sizes.ts'

/** How far a run is, for people; pure. */

const barColumns = 24

export function progressLines(status: RunStatus, columns: number): string[] {
  const { reader, ledger, speed } = status
  if (!reader || !ledger) return [cut(`${status.state}…`, columns)]
  const { extracted, uploaded } = speed
  const paused = status.state === 'paused' ? '  paused' : ''
  const full = ledger.spool.full ? '  waits: the spool is full' : ''
  const { inForce, max } = ledger.permits
  const busy = inForce < max ? `  the store is busy: ${inForce} of ${max} requests` : ''
  const replay = `${count(reader.found)} of ${count(reader.examined)} rows were there`
  const extract = [
    `${perSecond(extracted.samplesPerSecond)} samples/s`,
    `${perSecond(extracted.tokensPerSecond)} tokens/s`,
    `ETA ${eta(speed.etaSeconds)}${paused}${full}`,
  ]
  const upload = [
    `${perSecond(uploaded.samplesPerSecond)} samples/s`,
    `${formatBytes(uploaded.bytesPerSecond)}/s`,
    `${count(ledger.spool.files)} in the spool${busy}`,
  ]
  const lines = [
    `replay   ${bar(reader.examined, reader.rows)} ${replay}`,
    `extract  ${bar(reader.rowsDone, reader.rows)} ${extract.join(', ')}`,
    `upload   ${bar(ledger.stored.samples, ledger.spooled.samples)} ${upload.join(', ')}`,
  ]
  return lines.map((line) => cut(line, columns))
}

function bar(done: number, all: number): string {
  const share = all === 0 ? 1 : Math.min(1, done / all)
  const filled = Math.floor(share * barColumns)
  const percent = `${Math.floor(share * 100)}%`.padStart(5)
  return `${'█'.repeat(filled)}${'░'.repeat(barColumns - filled)}${percent}`
}

const cut = (line: string, columns: number): string =>
  line.length <= columns ? line : `${line.slice(0, Math.max(0, columns - 1))}…`

/** The same for a line of the log. */
export function progressFacts({ state, reader, ledger, speed }: RunStatus) {
  return {
    state,
    rows: reader?.rows,
    rowsDone: reader?.rowsDone,
    committed: ledger?.committed,
    spooled: ledger?.spool.files,
    samplesPerSecond: Math.round(speed.extracted.samplesPerSecond),
    tokensPerSecond: Math.round(speed.extracted.tokensPerSecond),
    etaSeconds: speed.etaSeconds && Math.round(speed.etaSeconds),
  }
}
