/** Gradients of matrix products, batched ones among them. */
import type { Builder } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'
import type { InputGradient } from '../graph/tape.ts'
import type { Pull } from './rules.ts'
import { unbroadcast } from './unbroadcast.ts'
import { weightGradient } from './weight-gradient.ts'

interface Product {
  readonly b: Builder
  readonly x: Value
  readonly y: Value
  readonly transA: boolean
  readonly transB: boolean
  readonly alpha: number
  readonly shape: (x: Value) => number[]
}

export const product = (
  { b, node: { inputs }, shape }: Pull<'MatMul'>,
  g: Value,
): readonly InputGradient[] => {
  const [x, y] = inputs
  return through({ b, x, y, transA: false, transB: false, alpha: 1, shape }, g)
}

export const fusedProduct = (
  { b, node: { inputs, attributes }, shape }: Pull<'FusedMatMul'>,
  g: Value,
): readonly InputGradient[] => {
  const [x, y] = inputs
  const { transA, transB, alpha } = attributes
  const of = { transA: transA === 1, transB: transB === 1, alpha: alpha.float }
  return through({ b, x, y, ...of, shape }, g)
}

/** Of z = α A B, with A = x or xᵀ and B = y or yᵀ: dA = α g Bᵀ, dB = α Aᵀ g. */
function through(at: Product, g: Value): readonly InputGradient[] {
  const { b, x, y, transA, transB, alpha, shape } = at
  if (!transA && y.shape.length === 2 && x.shape.length > 2) return throughWeights(at, g)
  const dx = () =>
    transA
      ? b.matmul(y, g, { transA: transB, transB: true, alpha })
      : b.matmul(g, y, { transB: !transB, alpha })
  const dy = () => {
    if (!transB) return b.matmul(x, g, { transA: !transA, alpha })
    const isPlain = !transA && x.shape.length === 2 && g.shape.length === 2
    return isPlain
      ? weightGradient(b, { g, x, alpha })
      : b.matmul(g, x, { transA: true, transB: transA, alpha })
  }
  return [() => unbroadcast(b, dx(), shape(x)), () => unbroadcast(b, dy(), shape(y))]
}

/** Of many rows by one matrix, as a layer has it: one flat product, and no sum over batches. */
function throughWeights({ b, x, y, transB, alpha, shape }: Product, g: Value) {
  const flat = (value: Value) => {
    const [width, ...ahead] = shape(value).toReversed()
    return b.reshape(value, [ahead.reduce((rows, dim) => rows * dim, 1), width])
  }
  const dy = () =>
    transB
      ? weightGradient(b, { g: flat(g), x: flat(x), alpha })
      : b.matmul(flat(x), flat(g), { transA: true, alpha })
  return [() => b.matmul(g, y, { transB: !transB, alpha }), dy]
}
