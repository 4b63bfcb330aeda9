import type { Builder } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'

/** The gradient of an input that was broadcast: summed over the copies, in the input's shape. */
export function unbroadcast(b: Builder, g: Value, shape: readonly number[]): Value {
  const ahead = g.shape.length - shape.length
  const spread = g.shape.flatMap((dim, axis) => {
    const own = axis < ahead ? 1 : shape[axis - ahead]
    return own === 1 && dim !== 1 ? [axis] : []
  })
  return b.reshape(b.sum(g, spread), shape)
}
