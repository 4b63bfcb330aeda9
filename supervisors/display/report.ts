import { count } from '../../actors/console/numbers.ts'
import { skippedText } from '../../actors/console/text.ts'
import { epochText, measuredText, stepText } from '../../actors/console/training-text.ts'
import type { TrainingStatus } from '../../protocol/console.ts'
import type { ReaderStatus } from '../../protocol/source.ts'
import { explain } from '../../src/failure.ts'
import { exitCodes } from '../run/machine.ts'
import { type NoticePlace, placeText } from '../run/preemption-notice.ts'
import type { RunResult } from '../run/result.ts'

export interface ReportOptions {
  readonly json: boolean
  /** What goes on after a stop, where the same command would not. */
  readonly again?: string
}

/** Tells on stdout how a run has ended. */
export function printResult(result: RunResult, as: ReportOptions): void {
  process.stdout.write(`${resultText(result, as)}\n`)
}

/** What a run says when it has ended. */
export const resultText = (result: RunResult, { json, again }: ReportOptions): string =>
  json ? JSON.stringify(resultJson(result)) : asText(result, again)

/** How it ended, and where: the same of whatever has run. */
export const ending = ({ code, failure, notice, status }: RunResult) => ({
  code,
  state: status.state,
  reason: failure && explain(failure),
  remedy: failure?.remedy ?? null,
  notice: notice?.file ?? notice?.url ?? null,
  run: status.run,
  store: status.store,
})

/** What `--json` tells of it. */
export function resultJson(result: RunResult) {
  const { source, ledger, training } = result.status
  return {
    ...ending(result),
    rows: source?.of === 'rows' ? rowsJson(source) : null,
    extracted: ledger?.spooled ?? null,
    stored: ledger?.stored ?? null,
    failed: ledger?.failed ?? [],
    spool: ledger?.spool ?? null,
    training: training && trainingJson(training),
  }
}

const trainingJson = ({ trainer, checkpoints }: TrainingStatus) => ({
  ...trainer,
  checkpoint: checkpoints.last,
})

const rowsJson = ({ rows, examined, skipped, repeated, outcome }: ReaderStatus) => ({
  rows,
  examined,
  skipped,
  repeated,
  ...outcome,
})

function asText(result: RunResult, again = 'the same command'): string {
  const { source, ledger, training } = result.status
  const whole = source || !training ? 'every sample' : 'the drafter'
  const lines = headlines(result, { whole, again })
  if (source?.of === 'rows' && source.outcome) {
    const { committed, quarantined, failed } = source.outcome
    const ends = [
      `${count(committed)} samples committed`,
      `${count(quarantined)} quarantined`,
      `${count(failed)} failed`,
      `${count(source.repeated)} rows repeat another`,
      skippedText(source.skipped),
    ]
    lines.push(`Of ${count(source.rows)} rows: ${ends.join(', ')}.`)
  }
  if (ledger) {
    const { samples, tokens } = ledger.spooled
    const made = `${count(samples)} samples of ${count(tokens)} tokens extracted`
    if (source) lines.push(`Since this start: ${made}.`)
    for (const { hash, reason } of ledger.failed) lines.push(`failed ${hash}: ${reason}`)
  }
  if (training) lines.push(...trainedLines(training))
  return lines.join('\n')
}

function trainedLines({ trainer, checkpoints }: TrainingStatus): string[] {
  const { heldOut, outcome, samples, tokens } = trainer
  const isWhole = outcome !== null && trainer.epoch < trainer.epochs
  const epochs = isWhole ? `in ${trainer.epochs} epochs` : `by ${epochText(trainer)}`
  const seen = `${count(samples)} samples of ${count(tokens)} tokens seen ${epochs}`
  return [
    `Trained: step ${stepText(trainer)}, ${seen}.`,
    ...(heldOut
      ? [`On ${heldOut.samples} held-out samples: ${measuredText(heldOut)} (simulated).`]
      : []),
    ...(checkpoints.last ? [`Its checkpoint is checkpoints/${checkpoints.last.name}.`] : []),
  ]
}

/** What differs between a run and an import. */
export interface Wording {
  /** What is in the store when all is done. */
  readonly whole: string
  /** What goes on after a stop. */
  readonly again: string
}

/** How it ended, in words, and why where it gave up. */
export function headlines(
  { code, failure, notice, status: { store } }: RunResult,
  wording: Wording,
): string[] {
  if (notice) return noticeLines(notice, wording)
  const why = failure ? [`Why: ${explain(failure)}. ${failure.remedy ?? ''}`] : []
  return [headline(code, store, wording), ...why]
}

/** A file that is left behind stops each run after it. */
function noticeLines(notice: NoticePlace, { again }: Wording): string[] {
  const stopped = `Stopped by the spot notice ${placeText(notice)}; ${again} goes on elsewhere.`
  if (notice.file === undefined) return [stopped]
  return [stopped, 'While that file is there, a run stops at once: remove it if it is old.']
}

function headline(code: number, store: string, { whole, again }: Wording): string {
  if (code === exitCodes.done) return `Done: ${whole} is in ${store}`
  if (code === exitCodes.incomplete) return `Finished, but not whole: ${store}`
  if (code === exitCodes.refused) return 'Cannot go on; what is stored stays as it is.'
  if (code === exitCodes.held) return 'Stopped: another supervisor has taken the run over.'
  if (code === exitCodes.stopped || code > 128) return `Stopped; ${again} goes on.`
  return 'Gave up; what was stored is committed, what is spooled stays in the spool.'
}
