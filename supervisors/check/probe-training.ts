import { totalmem } from 'node:os'
import { count } from '../../actors/console/numbers.ts'
import type { Config } from '../../src/config/schema.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import type { TrainConfig } from '../../src/config/train-schema.ts'
import { type TrainingMemory, trainingMemory } from '../../src/training/memory.ts'
import { trialStep } from '../../src/training/trial-step.ts'
import {
  type ChosenTarget,
  type PreparedTraining,
  threadsFor,
  trainingOf,
} from '../run/preflight.ts'
import type { Seen } from './findings.ts'

/** Whether a training can begin: its device takes a small step; the rest is reckoned. */

/**
 * @param memory  of this machine, in bytes
 * @throws        Failure `invalid`: this drafter cannot be trained, or not on this device
 */
export async function lookAtTraining(
  config: Config,
  chosen: ChosenTarget,
  memory = memoryHere(),
): Promise<Seen<PreparedTraining>> {
  const training = trainingOf(config, chosen, undefined)
  const { drafter, train } = training
  const [device] = train.devices
  const { dtype } = config.extract
  const threads = threadsFor(train.devices)
  const loss = await trialStep({ device, threads, train, drafter, dtype })
  const { tiedEmbeddings } = chosen.target.config
  const held = trainingMemory({ drafter, train, device, tiedEmbeddings, dtype })
  const tried = `takes a step of a drafter of this kind in miniature (loss ${loss.toFixed(2)})`
  const rest = `at its own size nothing was tried. ${memoryText(held, train)}`
  const told = `${device}: ${tried}; ${rest}`
  const least = held.trained + held.frozen + held.saving + held.states
  return least > memory ? [told, training, tooLarge(least, memory)] : [told, training]
}

/** Where the system bounds the process, so much. */
function memoryHere(): number {
  const bound = process.constrainedMemory()
  return bound ? Math.min(bound, totalmem()) : totalmem()
}

function memoryText(held: TrainingMemory, { queueBytes }: TrainConfig): string {
  const { frozen, onDevice, parameters, saving, states, trained } = held
  const parts = [
    `${formatBytes(trained)} with gradients and moments`,
    `${formatBytes(frozen)} of the target's embedding and head`,
    `${formatBytes(states)} of hidden states for a step`,
    `${formatBytes(saving)} while a checkpoint is saved`,
  ]
  const device = onDevice === 0 ? '' : `; on the device at least ${formatBytes(onDevice)}`
  const ahead = `what is read ahead, ${formatBytes(queueBytes)} at most`
  return (
    `${count(parameters)} parameters take ${parts.join(', ')}${device}. On top comes what a step ` +
    `computes in, which was not measured, and ${ahead}`
  )
}

const tooLarge = (least: number, memory: number): string =>
  `That is ${formatBytes(least)} at least, and this machine gives ${formatBytes(memory)}: lower ` +
  'train.layers or train.tokensPerStep, or train elsewhere.'
