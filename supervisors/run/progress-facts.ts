import type { RunStatus } from '../../protocol/console.ts'
import type { SourceStatus } from '../../protocol/source.ts'
import type { TrainerStatus } from '../../protocol/trainer.ts'

/** How far a run is, for a line of the log. */
export function progressFacts({ state, source, ledger, speed, training }: RunStatus) {
  return {
    state,
    ...(source && sourceFacts(source)),
    ...(training && trainerFacts(training.trainer)),
    committed: ledger?.committed,
    spooled: ledger?.spool.files,
    samplesPerSecond: Math.round(speed.spooled.samplesPerSecond),
    tokensPerSecond: Math.round(speed.spooled.tokensPerSecond),
    etaSeconds: speed.etaSeconds && Math.round(speed.etaSeconds),
  }
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
