/** What a training graph gives of a batch, beside gradients; and places for it. */
import type { Distillation } from '../autodiff/head-loss.ts'
import type { Feed } from '../session/feed.ts'
import type { Blocks } from './blocks.ts'

type Floats = Extract<Feed, { readonly dtype: 'F32' }>

/** See `lossGraph`. */
export type Results = Readonly<Record<'loss' | 'cross_entropy' | 'correct', Floats>> & {
  readonly divergence?: Floats
}

export function resultsOf(
  { shape: { rows, blocks, size } }: Blocks,
  distillation: Distillation | null,
): Results {
  const slots = [rows, blocks, size - 1]
  const count = rows * blocks * (size - 1)
  const floats = (shape: readonly number[], length: number) =>
    ({ dtype: 'F32', shape, data: new Float32Array(length) }) as const
  return {
    loss: floats([], 1),
    cross_entropy: floats(slots, count),
    correct: floats(slots, count),
    ...(distillation && { divergence: floats(slots, count) }),
  }
}
