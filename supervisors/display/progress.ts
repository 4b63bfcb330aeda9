import { count, eta, perSecond } from '../../actors/console/numbers.ts'
import {
  batchesText,
  measuredText,
  secondsLeft,
  stepText,
} from '../../actors/console/training-text.ts'
import type { RunStatus } from '../../protocol/console.ts'
import type { LedgerStatus } from '../../protocol/ledger.ts'
import { filesLeft, type SourceStatus } from '../../protocol/source.ts'
import type { TrainerStatus } from '../../protocol/trainer.ts'
import { formatBytes } from '../../src/config/sizes.ts'

/** How far a run is, for people; pure. */

const barColumns = 20

export function progressLines(status: RunStatus, columns: number): string[] {
  const { source, ledger, training } = status
  if (!ledger || !(source || training)) return [cut(`${status.state}…`, columns)]
  const lines = [
    ...(source ? fillingLines(status, source, ledger) : []),
    ...(training ? trainingLines(training.trainer, pausedText(status)) : []),
    ...(status.state === 'draining' ? [draining] : []),
  ]
  return lines.map((line) => cut(line, columns))
}

/** A step may take minutes: it is said what is waited for. */
const draining = 'draining: what is under way ends and is saved; Ctrl-C again does not wait'

const pausedText = ({ state }: RunStatus): string => (state === 'paused' ? '  paused' : '')

/** How far, and how well. */
function trainingLines(trainer: TrainerStatus, paused: string): string[] {
  const { batches, last, outcome, state, step, steps, tokensPerSecond } = trainer
  const done = step + (batches ? batches.done / batches.of : 0)
  const facts = [
    `step ${stepText(trainer)}`,
    ...batchesText(trainer),
    outcome ? 'done' : `ETA ${eta(secondsLeft(trainer))}`,
    `${perSecond(tokensPerSecond)} tokens/s`,
    ...(last ? [] : [state]),
  ]
  return [
    `train    ${bar(done, steps ?? Number.POSITIVE_INFINITY)} ${facts.join(', ')}${paused}`,
    ...(last ? [`         ${measuredText(last)}`] : []),
  ]
}

function fillingLines(status: RunStatus, source: SourceStatus, ledger: LedgerStatus): string[] {
  const { speed } = status
  const { spooled, uploaded } = speed
  const full = ledger.spool.full ? '  waits: the spool is full' : ''
  const { inForce, max } = ledger.permits
  const busy = inForce < max ? `  the store is busy: ${inForce} of ${max} requests` : ''
  const made = [
    `${perSecond(spooled.samplesPerSecond)} samples/s`,
    `${perSecond(spooled.tokensPerSecond)} tokens/s`,
    `${source.outcome ? 'done' : `ETA ${eta(speed.etaSeconds)}`}${pausedText(status)}${full}`,
  ]
  const upload = [
    `${perSecond(uploaded.samplesPerSecond)} samples/s`,
    `${formatBytes(uploaded.bytesPerSecond)}/s`,
    `${count(ledger.toSend)} to send${busy}`,
  ]
  const sent = ledger.stored.samples
  return [
    ...sourceLines(source, made.join(', ')),
    `upload   ${bar(sent, sent + ledger.toSend)} ${upload.join(', ')}`,
  ]
}

/** What was looked at, and what was made of it. */
function sourceLines(source: SourceStatus, made: string): [string, string] {
  const { examined, found } = source
  const there = `${count(found)} of ${count(examined)} ${source.of} were there`
  if (source.of === 'rows') {
    return [
      `replay   ${bar(examined, source.rows)} ${there}`,
      `extract  ${bar(source.rowsDone, source.rows)} ${made}`,
    ]
  }
  return [
    `examine  ${bar(examined, source.files)} ${there}, ${count(filesLeft(source))} left alone`,
    `import   ${bar(examined - source.inHand, source.files)} ${made}`,
  ]
}

function bar(done: number, all: number): string {
  const share = all === 0 ? 1 : Math.min(1, done / all)
  const filled = Math.floor(share * barColumns)
  const percent = `${Math.floor(share * 100)}%`.padStart(5)
  return `${'█'.repeat(filled)}${'░'.repeat(barColumns - filled)}${percent}`
}

const cut = (line: string, columns: number): string =>
  line.length <= columns ? line : `${line.slice(0, Math.max(0, columns - 1))}…`
