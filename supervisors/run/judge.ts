import type { TrainingStatus } from '../../protocol/console.ts'
import type { GaveUp, LedgerStatus } from '../../protocol/ledger.ts'
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

/** What those told who know how far the work is; null where there is no such work. */
export interface Heard {
  readonly ledger: LedgerStatus
  readonly source: SourceStatus | null
  /** `unheard`: it has not answered yet. */
  readonly training: TrainingStatus | 'unheard' | null
  /** A step was done since the start, by whichever of its trainers. */
  readonly hasLearnt: boolean
}

/** One of the works of a run: whether it has begun, and how it ended. */
interface Work {
  readonly begun: boolean
  /** Null until its end. */
  readonly ended: { readonly incomplete: boolean } | null
  /** It cannot end well: nothing of it is of use. */
  readonly useless?: Extract<RunEvent, { type: 'refused' | 'gaveUp' }>
}

/** What their words mean for the run, in the order it is to hear of it. */
export function judge(heard: Heard): RunEvent[] {
  const { ledger, source, training: told } = heard
  const training = told === 'unheard' ? null : told
  const works = [
    ...(source ? [source.of === 'rows' ? ofRows(source, ledger) : ofFiles(source)] : []),
    ...(told === 'unheard' ? [{ begun: false, ended: null }] : []),
    ...(training ? [ofTraining(training)] : []),
  ]
  return [
    ...judgeStore(ledger.gaveUp),
    ...judgeStore(training?.checkpoints.gaveUp ?? null),
    ...judgeTrainer(training?.trainer.gaveUp ?? null, heard),
    ...judgeWorks(works),
  ]
}

function judgeStore(gaveUp: GaveUp | null): RunEvent[] {
  if (!gaveUp) return []
  const remedy = `${gaveUp.remedy ?? seeStore} ${goOn}`
  return [{ type: 'gaveUp', failure: new Failure('unavailable', gaveUp.reason, { remedy }) }]
}

/** What it met before its first step is refused, like what a preflight finds. */
function judgeTrainer(
  gaveUp: GaveUp | null,
  { hasLearnt, ledger }: Pick<Heard, 'hasLearnt' | 'ledger'>,
): RunEvent[] {
  if (!gaveUp) return []
  const remedy = gaveUp.remedy ?? 'Read in the log what it met.'
  const hasDone = hasLearnt || hasStored(ledger)
  const what = hasLearnt ? 'the training ended' : 'the training cannot begin'
  const failure = new Failure('invalid', `${what}: ${gaveUp.reason}`, { remedy })
  return [{ type: hasDone ? 'gaveUp' : 'refused', failure }]
}

const hasStored = ({ segments, stored }: LedgerStatus): boolean => stored.samples + segments > 0

function judgeWorks(works: readonly Work[]): RunEvent[] {
  const useless = works.find((work) => work.useless)?.useless
  if (useless) return [useless]
  const begun: RunEvent[] = works.some((work) => work.begun) ? [{ type: 'replayed' }] : []
  const ends = works.map((work) => work.ended)
  if (ends.length === 0 || ends.includes(null)) return begun
  return [
    { type: 'replayed' },
    { type: 'finished', incomplete: ends.some((end) => end?.incomplete) },
  ]
}

function ofRows(source: ReaderStatus, ledger: LedgerStatus): Work {
  const { batches, outcome, rows, skipped } = source
  if (!outcome) return { begun: batches.leased > 0, ended: null }
  const { committed, quarantined, failed } = outcome
  if (committed + quarantined + failed > 0) {
    return { begun: true, ended: { incomplete: quarantined + failed > 0 } }
  }
  // The dataset is refused like one that the preflight refuses, unless the spool held what another
  // had left.
  const type = hasStored(ledger) ? 'gaveUp' : 'refused'
  return { begun: true, ended: null, useless: { type, failure: noUsableRow(rows, skipped) } }
}

/** Whole is an import of which every file was taken, or was there before. */
function ofFiles(source: ImporterStatus): Work {
  const { inHand, outcome } = source
  if (!outcome) return { begun: inHand > 0, ended: null }
  return { begun: true, ended: { incomplete: outcome.failed + filesLeft(source) > 0 } }
}

/** Over with its last checkpoint: without it a run would end well that has lost its last steps. */
function ofTraining(training: TrainingStatus): Work {
  const { outcome, step } = training.trainer
  const isOver = outcome !== null && isSaved(training)
  return { begun: step > 0, ended: isOver ? { incomplete: false } : null }
}

/** Whether steps were done that no checkpoint holds. */
export const isUnsaved = (training: TrainingStatus | null): boolean =>
  training !== null && training.trainer.step > 0 && !isSaved(training)

/** Whether the newest checkpoint holds all that was learnt. */
export const isSaved = ({ trainer, checkpoints: { last } }: TrainingStatus): boolean =>
  last?.training === trainer.training && last.step === trainer.step
