/** Trainings as a trainer would hand them over, small and made up. */

import type { Expected } from '../../../src/checkpoint/accept.ts'
import { type CheckpointName, checkpointName } from '../../../src/checkpoint/names.ts'
import { saveCheckpoint } from '../../../src/checkpoint/save.ts'
import type { TrainingProgress } from '../../../src/checkpoint/state.ts'
import type { TrainedTensor, TrainingState } from '../../../src/checkpoint/tensors.ts'
import { seededRandom } from '../../../src/clock.ts'
import type { ObjectStore } from '../../../src/store/store.ts'

export const training = 'a-training'
export const now = 1_800_000_000_000

/** Parameters of a drafter that is none. */
export const shapes = [
  { name: 'fc.weight', shape: [6, 4] },
  { name: 'layers.0.mlp.up_proj.weight', shape: [8, 6] },
  { name: 'norm.weight', shape: [6] },
]

export const drafter = { block_size: 16, hidden_size: 6, dflash_config: { mask_token_id: 255 } }
export const target = { fingerprint: 'a-target', layers: [1, 2] }

export const expected: Expected = { tensors: shapes, drafter, target }

type Shapes = Expected['tensors']

/** What a training is at this step; the same for the same step. */
export function trainedAt(
  step: number,
  options: { readonly of?: Shapes; readonly progress?: Partial<TrainingProgress> } = {},
): TrainingState {
  const random = seededRandom(step)
  const floats = (length: number) => Float32Array.from({ length }, () => random() - 0.5)
  const tensors = (options.of ?? shapes).map(({ name, shape }): TrainedTensor => {
    const length = shape.reduce((product, size) => product * size, 1)
    return { name, shape, value: floats(length), m: floats(length), v: floats(length) }
  })
  return { progress: progressAt(step, options.progress), tensors }
}

export const progressAt = (
  step: number,
  other: Partial<TrainingProgress> = {},
): TrainingProgress => ({
  training,
  step,
  samples: step * 4,
  tokens: step * 400,
  heldOutLoss: null,
  tau: null,
  drafter,
  target,
  schedule: { kind: 'cosine', lr: 6e-4, warmup: 0.04 },
  data: { plan: step * 2, epoch: 0, split: { heldOut: 3 } },
  random: { seed: 7 },
  ...other,
})

/** An id that no other save has; later ones are greater. */
export function writerId(n: number): string {
  return `20261201t0800${String(n).padStart(5, '0')}z-00000000000${n % 10}`
}

let saves = 0

/** Saved whole. @returns its name */
export async function saved(store: ObjectStore, state: TrainingState): Promise<string> {
  const writer = writerId(saves++)
  return (await saveCheckpoint(store, state, { writer, now })).name
}

export const nameOf = (step: number, n = 0): string =>
  checkpointName({ step, writer: writerId(n) } satisfies CheckpointName)

/** One value of one of its arrays is another. */
export function spoilt(
  state: TrainingState,
  where: { readonly name: string; readonly array: 'value' | 'm' | 'v'; readonly by: number },
): TrainingState {
  state.tensors.find(({ name }) => name === where.name)?.[where.array].set([where.by], 1)
  return state
}
