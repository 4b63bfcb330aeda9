import { secondsLeft } from '../../actors/console/training-text.ts'
import type { RunStatus } from '../../protocol/console.ts'
import type { SourceStatus } from '../../protocol/source.ts'
import type { TrainerStatus } from '../../protocol/trainer.ts'

/** How far a run is, for a line of the log. */
export function progressFacts(status: RunStatus) {
  const { state, source, ledger, speed, training } = status
  const etaSeconds = secondsLeftOf(status)
  return {
    state,
    ...(source && sourceFacts(source)),
    ...(training && trainerFacts(training.trainer)),
    committed: ledger?.committed,
    spooled: ledger?.spool.files,
    samplesPerSecond: Math.round(speed.spooled.samplesPerSecond),
    tokensPerSecond: Math.round(speed.spooled.tokensPerSecond),
    etaSeconds: etaSeconds === null ? null : Math.round(etaSeconds),
  }
}

/** Of the work that takes longest of what is not over; null where nothing tells. */
function secondsLeftOf({ source, speed, state, training }: RunStatus): number | null {
  if (state === 'paused') return null
  const trainer = training?.trainer
  const left = [
    trainer && trainer.outcome === null ? secondsLeft(trainer) : null,
    source?.outcome && trainer ? null : speed.etaSeconds,
  ].filter((seconds) => seconds !== null)
  return left.length === 0 ? null : Math.max(...left)
}

function trainerFacts({ last, step, steps, tokensPerSecond }: TrainerStatus) {
  return {
    step,
    steps,
    loss: last?.loss,
    lr: last?.lr,
    gradientNorm: last?.gradientNorm,
    accuracyBySlot: last?.accuracyBySlot,
    acceptanceLength: last?.acceptanceLength,
    trainedTokensPerSecond: Math.round(tokensPerSecond),
  }
}

function sourceFacts(source: SourceStatus) {
  if (source.of === 'rows') return { rows: source.rows, rowsDone: source.rowsDone }
  return { files: source.files, filesDone: source.examined - source.inHand }
}
