import type { RunStatus } from '../../protocol/console.ts'
import type { LedgerStatus } from '../../protocol/ledger.ts'
import type { ImporterStatus, ReaderStatus } from '../../protocol/source.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import { fitted } from '../../src/fitted.ts'
import type { PermitsStatus } from '../../src/store/permits.ts'
import { count, eta, perSecond } from './numbers.ts'
import { trainingLines } from './training-text.ts'
import { treeText } from './tree-text.ts'

/** What people read of a run's status. */

export function statusText(status: RunStatus, columns: number): string {
  const lines = headLines(status).map((line) => fitted(line, columns, '    '))
  if (status.actors) lines.push(treeText(status, columns))
  return lines.join('\n')
}

/** All but the tree, in lines of any length. */
export function headLines(status: RunStatus): string[] {
  const { source, ledger, training } = status
  const lines = [`${status.state}: run ${status.run || '(not known yet)'}, pid ${status.pid}`]
  lines.push(`store ${status.store}`)
  if (source?.of === 'rows') lines.push(...rowLines(source, ledger))
  if (source?.of === 'files') lines.push(fileLine(source))
  if (ledger) lines.push(...storeLines(ledger))
  if (source || !training) {
    lines.push(speedLine(status, source ? made[source.of] : 'spooled'))
  }
  if (training) lines.push(...trainingLines(training))
  return lines
}

/** What becomes of each. */
const made = { rows: 'extracted', files: 'imported' }

/** A training may go on after it. */
const ended = { rows: 'extraction done', files: 'import done' }

function speedLine({ source, speed }: RunStatus, became: string): string {
  const { spooled, uploaded, etaSeconds } = speed
  const parts = [
    `${samplesPerSecond(spooled)}, ${perSecond(spooled.tokensPerSecond)} tokens/s ${became}`,
    `${samplesPerSecond(uploaded)}, ${formatBytes(uploaded.bytesPerSecond)}/s uploaded`,
    source?.outcome ? ended[source.of] : `${eta(etaSeconds)} left`,
  ]
  return `speed ${parts.join('; ')}`
}

const samplesPerSecond = (of: { readonly samplesPerSecond: number }): string =>
  `${perSecond(of.samplesPerSecond)} samples/s`

function rowLines(reader: ReaderStatus, ledger: LedgerStatus | null): string[] {
  const { planned, leased, done } = reader.batches
  const rows = [
    `${count(reader.found)} were there`,
    `${count(reader.repeated)} repeat others`,
    skippedText(reader.skipped),
  ]
  const batches = `${count(done)} done, ${leased} under way, ${count(planned)} planned`
  const extracted = count(ledger?.spooled.samples ?? 0)
  return [
    `rows ${count(reader.examined)} of ${count(reader.rows)} examined: ${rows.join(', ')}`,
    `batches ${batches}; ${extracted} samples extracted since the start`,
  ]
}

function fileLine({ files, examined, found, imported, inHand, leftAlone }: ImporterStatus): string {
  const ends = [
    `${count(found)} were there`,
    `${count(imported)} imported`,
    `${count(inHand)} in hand`,
    byReason('left alone', leftAlone),
  ]
  return `files ${count(examined)} of ${count(files)} examined: ${ends.join(', ')}`
}

export const skippedText = (skipped: Readonly<Record<string, number>>): string =>
  byReason('skipped', skipped)

function byReason(what: string, counts: Readonly<Record<string, number>>): string {
  const reasons = Object.entries(counts).map(([reason, many]) => `${count(many)} ${reason}`)
  return reasons.length === 0 ? `none ${what}` : `${what}: ${reasons.join(', ')}`
}

function storeLines(ledger: LedgerStatus): string[] {
  const { spool } = ledger
  const stored = [
    `${count(ledger.committed)} committed`,
    `${count(ledger.uncommitted)} stored and not yet committed`,
    `${count(ledger.quarantined)} quarantined`,
    `${ledger.failed.length} failed`,
  ]
  const full = spool.full ? `; full: ${spool.full}` : ''
  const lines = [
    `store ${stored.join(', ')}`,
    `spool ${count(spool.files)} files, ${formatBytes(spool.bytes)}${full}; ` +
      `${ledger.uploading} uploading, ${permitsText(ledger.permits)}`,
  ]
  for (const { hash, reason } of ledger.failed) lines.push(`failed ${hash}: ${reason}`)
  return lines
}

function permitsText({ open, max, inForce, peak }: PermitsStatus): string {
  const most = `${count(peak)} at the peak`
  if (inForce === max)
    return `${count(open)} of ${count(max)} permits for requests given out (${most})`
  const busy = `the store is busy: adapting, up to ${count(max)} once it answers`
  return `${count(open)} of ${count(inForce)} permits for requests given out (${most}; ${busy})`
}
