import type { CheckpointerStatus } from '../../protocol/checkpointer.ts'
import type { TrainingStatus } from '../../protocol/console.ts'
import type { TrainerStatus } from '../../protocol/trainer.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import type { HeldOutMeasured, Measured } from '../../src/training/measured.ts'
import { count, eta, perSecond } from './numbers.ts'

/** What people read of a training. */

export function trainingLines({ trainer, checkpoints }: TrainingStatus): string[] {
  const { heldOut, last } = trainer
  return [
    `training ${trainer.training || '(not begun)'}: ${progressText(trainer)}`,
    ...(last
      ? [
          `  ${measuredText(last)}, lr ${short(last.lr)}, gradient ${short(last.gradientNorm)}`,
          `  right by slot: ${last.accuracyBySlot.map(percent).join(' ')}`,
        ]
      : []),
    ...(heldOut ? [`  ${heldOutText(heldOut)}`] : []),
    checkpointLine(checkpoints),
  ]
}

function progressText(trainer: TrainerStatus): string {
  const { outsideShare, samples, skipped, state, tokens, transferShare } = trainer
  const parts = [
    state,
    `step ${stepText(trainer)}`,
    ...batchesText(trainer),
    epochText(trainer),
    `${count(samples)} samples, ${count(tokens)} tokens`,
    `${perSecond(trainer.tokensPerSecond)} tokens/s on ${trainer.device}`,
    ...(trainer.outcome ? [] : [`${eta(secondsLeft(trainer))} left`]),
  ]
  if (outsideShare !== null) {
    const transfers = transferShare === null ? 'not told apart' : percent(transferShare)
    parts.push(`${percent(outsideShare)} outside onnxruntime, transfers ${transfers}`)
  }
  if (skipped > 0) parts.push(`${count(skipped)} steps skipped: not finite`)
  return parts.join(', ')
}

export const stepText = ({ step, steps }: TrainerStatus): string =>
  steps === null ? count(step) : `${count(step)} of ${count(steps)}`

/** How far it is within the step under way; one batch's step is told by nothing. */
export const batchesText = ({ batches }: TrainerStatus): string[] =>
  batches === null || batches.of === 1
    ? []
    : [`batches ${count(batches.done)} of ${count(batches.of)}`]

/** The one under way, or the last. */
export const epochText = ({ epoch, epochs }: TrainerStatus): string =>
  epoch < epochs
    ? `epoch ${epoch + 1} of ${epochs}`
    : `epoch ${epoch + 1}, past train.epochs=${epochs}`

/** By the tokens that its steps have had so far; null where nothing tells. */
export function secondsLeft({
  step,
  steps,
  tokens,
  tokensPerSecond,
}: TrainerStatus): number | null {
  if (steps === null || step === 0 || tokensPerSecond === 0) return null
  return ((steps - step) * (tokens / step)) / tokensPerSecond
}

/** `held out at step 1,000, 512 samples: loss …`. */
function heldOutText(heldOut: HeldOutMeasured): string {
  const { samples, step } = heldOut
  return `held out at step ${count(step)}, ${count(samples)} samples: ${measuredText(heldOut)}`
}

/** `loss 1.234, 56.7 % right, τ 3.21`. */
export function measuredText({ loss, accuracy, acceptanceLength }: Measured): string {
  const right = (100 * accuracy).toFixed(1)
  return `loss ${loss.toFixed(3)}, ${right} % right, τ ${acceptanceLength.toFixed(2)}`
}

function checkpointLine({ last, lastAgeMs, lastError }: CheckpointerStatus): string {
  const trouble = lastError ? `; the last try failed: ${lastError}` : ''
  if (!last) return `checkpoints none of this start${trouble}`
  const age = eta((lastAgeMs ?? 0) / 1000)
  return `checkpoints ${last.name}, ${formatBytes(last.bytes)}, ${age} ago${trouble}`
}

/** A slot that was never supervised has no share. */
const percent = (share: number): string =>
  Number.isFinite(share) ? `${(100 * share).toFixed(0)} %` : '–'

const short = (value: number): string => value.toPrecision(3)
