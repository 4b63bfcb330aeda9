/** Gradients of the RMS norm, y = x̂ ⊙ w with x̂ = x · r and r = 1 / √(mean(x²) + ε). */
import { Failure } from '../failure.ts'
import type { Builder } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'
import type { InputGradient } from '../graph/tape.ts'
import type { Pull } from './rules.ts'

interface Normed {
  readonly x: Value
  readonly scale: Value
  /** [..., 1] */
  readonly r: Value
}

/** r is its second output, and kept. */
export function simplifiedNormalization({
  b,
  node,
  g: [g, ofRoot],
}: Pull<'SimplifiedLayerNormalization'>): readonly InputGradient[] {
  if (ofRoot) {
    throw new Failure('invalid', `the root of a norm has no gradient here. node=${node.name}`)
  }
  const [x, scale] = node.inputs
  const [, r] = node.outputs
  return g ? through(b, { x, scale, r }, g) : []
}

export function normalization(
  { b, node: { inputs, attributes } }: Pull<'RMSNormalization'>,
  g: Value,
): readonly InputGradient[] {
  const [x, scale] = inputs
  const last = b.graph.integers([x.shape.length - 1])
  const mean = b.op('ReduceMean', [b.mul(x, x), last], { keepdims: 1 })
  const root = b.op('Sqrt', [b.add(mean, b.scalar(attributes.epsilon.float))], {})
  return through(b, { x, scale, r: b.op('Reciprocal', [root], {}) }, g)
}

/** dx = r (ĝ − x̂ mean(ĝ ⊙ x̂)) with ĝ = g ⊙ w; dw = Σ g ⊙ x̂. */
function through(b: Builder, { x, scale, r }: Normed, g: Value): readonly InputGradient[] {
  const axis = x.shape.length - 1
  const normed = b.mul(x, r)
  const dx = () => {
    const scaled = b.mul(g, scale)
    const last = b.graph.integers([axis])
    const mean = b.op('ReduceMean', [b.mul(scaled, normed), last], { keepdims: 1 })
    return b.mul(r, b.sub(scaled, b.mul(normed, mean)))
  }
  const rows = Array.from({ length: axis }, (_, i) => i)
  return [dx, () => b.sum(b.mul(g, normed), rows, 0)]
}
