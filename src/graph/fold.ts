/** Arithmetic on constants, done while building: a graph never computes what never changes. */
import type { Op, TensorType } from './ops.ts'

type Arithmetic = (x: number, y: number) => number

const foldable: { readonly [O in Op]?: Arithmetic } = {
  Add: (x, y) => x + y,
  Sub: (x, y) => x - y,
  Mul: (x, y) => x * y,
  Div: (x, y) => x / y,
  Neg: (x) => -x,
  Reciprocal: (x) => 1 / x,
  Sqrt: Math.sqrt,
  Reshape: (x) => x,
}

export interface Folded {
  readonly shape: readonly number[]
  readonly numbers: Float32Array
}

/**
 * Each result is rounded to float32 once, as the operator itself rounds it.
 *
 * @param inputs  the numbers of each input, where they are known
 * @param result  what the operator gives
 * @returns       undefined where the operator must run
 */
export function folded(
  op: Op,
  inputs: readonly (Float32Array | undefined)[],
  result: TensorType,
): Folded | undefined {
  const by = foldable[op]
  const [x, y] = op === 'Reshape' ? [inputs[0]] : inputs
  const isKnown = x !== undefined && (inputs.length === 1 || op === 'Reshape' || y !== undefined)
  if (!by || !isKnown || result.dtype !== 'F32') return undefined
  const shape = result.shape.filter((dim) => typeof dim === 'number')
  const count = shape.reduce((product, dim) => product * dim, 1)
  // Of one shape, or a single number: which is all that models are built with.
  const fits = (list: Float32Array) => list.length === count || list.length === 1
  if (shape.length !== result.shape.length || !fits(x) || (y && !fits(y))) return undefined
  const at = (list: Float32Array | undefined, i: number) =>
    list === undefined ? 0 : list[list.length === 1 ? 0 : i]
  return { shape, numbers: Float32Array.from({ length: count }, (_, i) => by(at(x, i), at(y, i))) }
}
