/**
 * The gradient of each operator: from that of its outputs to those of its inputs (a vector-Jacobian
 * product). Total over the operators: one without a rule does not compile.
 */
import { Failure } from '../failure.ts'
import type { Builder } from '../graph/builder.ts'
import { describe, type Op, type Value } from '../graph/ops.ts'
import type { InputGradient, Node } from '../graph/tape.ts'
import { normalization, simplifiedNormalization } from './normalization.ts'
import { fusedProduct, product } from './products.ts'
import { cut, joined, picked, scattered, sliced } from './selection.ts'
import { unbroadcast } from './unbroadcast.ts'

export interface Pull<O extends Op> {
  readonly b: Builder
  readonly node: Node<O>
  /** Of each output, where it has one: at least one has. */
  readonly g: readonly (Value | undefined)[]
  readonly shape: (x: Value) => number[]
}

export type VjpRule<O extends Op> = (pull: Pull<O>) => readonly InputGradient[]

/** Integers, booleans and steps: nothing flows back. */
const constant = (): readonly InputGradient[] => []

/** No gradient was written: models that train are built without it. */
const refused = ({ node }: Pull<Op>): never => {
  const shapes = node.inputs.map((input) => (input ? describe(input) : '-')).join(', ')
  const facts = `node=${node.name}, op=${node.op}, inputs=(${shapes}), at=${node.origin()}`
  throw new Failure('invalid', `an operator has no gradient here. ${facts}`)
}

/** Of an operator with one output. */
const one =
  <O extends Op>(rule: (pull: Pull<O>, g: Value) => readonly InputGradient[]): VjpRule<O> =>
  (pull) =>
    pull.g[0] ? rule(pull, pull.g[0]) : []

/** f(x) with f'(x) from x and y = f(x). */
const elementwise = <
  O extends 'Neg' | 'Exp' | 'Log' | 'Sqrt' | 'Reciprocal' | 'Sigmoid' | 'Tanh' | 'Cos' | 'Sin',
>(
  slope: (b: Builder, at: { readonly g: Value; readonly x: Value; readonly y: Value }) => Value,
): VjpRule<O> =>
  one(({ b, node }, g) => [() => slope(b, { g, x: node.inputs[0], y: node.outputs[0] })])

export const vjpRules: { readonly [O in Op]: VjpRule<O> } = {
  Add: one(({ b, node: { inputs }, shape }, g) =>
    inputs.map((input) => () => unbroadcast(b, g, shape(input))),
  ),
  Sub: one(
    (
      {
        b,
        node: {
          inputs: [x, y],
        },
        shape,
      },
      g,
    ) => [() => unbroadcast(b, g, shape(x)), () => b.neg(unbroadcast(b, g, shape(y)))],
  ),
  Mul: one(
    (
      {
        b,
        node: {
          inputs: [x, y],
        },
        shape,
      },
      g,
    ) => [() => unbroadcast(b, b.mul(g, y), shape(x)), () => unbroadcast(b, b.mul(g, x), shape(y))],
  ),
  Div: one(
    (
      {
        b,
        node: {
          inputs: [x, y],
          outputs: [quotient],
        },
        shape,
      },
      g,
    ) => [
      () => unbroadcast(b, b.div(g, y), shape(x)),
      () => b.neg(unbroadcast(b, b.div(b.mul(g, quotient), y), shape(y))),
    ],
  ),
  MatMul: one(product),
  FusedMatMul: one(fusedProduct),
  Neg: elementwise((b, { g }) => b.neg(g)),
  Exp: elementwise((b, { g, y }) => b.mul(g, y)),
  Log: elementwise((b, { g, x }) => b.div(g, x)),
  Sqrt: elementwise((b, { g, y }) => b.div(b.mul(g, b.scalar(0.5)), y)),
  Reciprocal: elementwise((b, { g, y }) => b.neg(b.mul(g, b.mul(y, y)))),
  Sigmoid: elementwise((b, { g, y }) => b.mul(g, b.mul(y, b.sub(b.scalar(1), y)))),
  Tanh: elementwise((b, { g, y }) => b.mul(g, b.sub(b.scalar(1), b.mul(y, y)))),
  Cos: elementwise((b, { g, x }) => b.neg(b.mul(g, b.op('Sin', [x], {})))),
  Sin: elementwise((b, { g, x }) => b.mul(g, b.op('Cos', [x], {}))),
  Softmax: one(
    (
      {
        b,
        node: {
          attributes,
          outputs: [y],
        },
      },
      g,
    ) => [() => b.mul(y, b.sub(g, b.sum(b.mul(g, y), [attributes.axis])))],
  ),
  ReduceSum: one(({ b, node, shape }, g) => {
    const x = shape(node.inputs[0])
    return [() => b.expand(b.reshape(g, kept(x, node.inputs[1])), x)]
  }),
  ReduceMean: one(({ b, node, shape }, g) => {
    const x = shape(node.inputs[0])
    const low = kept(x, node.inputs[1])
    const share = low.reduce((product, dim) => product * dim, 1) / size(x)
    return [() => b.expand(b.reshape(b.mul(g, b.scalar(share)), low), x)]
  }),
  ReduceMax: one(
    (
      {
        b,
        node: {
          inputs: [x, axes],
          outputs: [y],
        },
        shape,
      },
      g,
    ) => {
      // Equal ones share.
      const low = kept(shape(x), axes)
      const isMax = b.op('Equal', [x, b.reshape(y, low)], {})
      const ones = b.op('Cast', [isMax], { to: 'F32' })
      const share = () => b.div(b.reshape(g, low), b.sum(ones, axesOf(axes)))
      return [() => b.mul(ones, share())]
    },
  ),
  Equal: constant,
  Less: constant,
  LessOrEqual: constant,
  And: constant,
  Not: constant,
  ArgMax: constant,
  Where: one(
    (
      {
        b,
        node: {
          inputs: [condition, yes, no],
        },
        shape,
      },
      g,
    ) => [
      null,
      () => unbroadcast(b, b.op('Where', [condition, g, b.scalar(0)], {}), shape(yes)),
      () => unbroadcast(b, b.op('Where', [condition, b.scalar(0), g], {}), shape(no)),
    ],
  ),
  Cast: one(
    (
      {
        b,
        node: {
          inputs: [x],
        },
      },
      g,
      // A float that was cut to an integer is a step, and an integer has no gradient.
    ) => [isFloat(x) && isFloat(g) ? () => b.graph.cast(b.name('cast'), g, x.dtype) : null],
  ),
  BitCast: constant,
  Gather: one(picked),
  GatherElements: refused,
  ScatterND: one(scattered),
  Concat: one(joined),
  Split: cut,
  Slice: one(sliced),
  Transpose: one(({ b, node: { attributes } }, g) => [
    () => b.transpose(g, inverse(attributes.perm)),
  ]),
  Reshape: one(
    (
      {
        b,
        node: {
          inputs: [x],
        },
        shape,
      },
      g,
    ) => [() => b.reshape(g, shape(x))],
  ),
  Squeeze: one(
    (
      {
        b,
        node: {
          inputs: [x],
        },
        shape,
      },
      g,
    ) => [() => b.reshape(g, shape(x))],
  ),
  Shape: constant,
  Expand: one(
    (
      {
        b,
        node: {
          inputs: [x],
        },
        shape,
      },
      g,
    ) => [() => unbroadcast(b, g, shape(x))],
  ),
  Range: constant,
  RMSNormalization: one(normalization),
  SimplifiedLayerNormalization: simplifiedNormalization,
  RotaryEmbedding: one(({ b, node }, g) => {
    const [, positions, cos, sin] = node.inputs
    // Turned back: a rotation's transpose is the rotation by the opposite angle.
    return [() => b.op('RotaryEmbedding', [g, positions, cos, b.neg(sin)], node.attributes)]
  }),
  GroupQueryAttention: refused,
  Loop: refused,
}

const isFloat = ({ dtype }: Value): boolean => ['F32', 'F16', 'BF16'].includes(dtype)

const size = (shape: readonly number[]): number => shape.reduce((product, dim) => product * dim, 1)

const axesOf = (axes: Value): number[] => (axes.holds ?? []).map(Number)

/** The shape with the reduced axes kept, each of length 1. */
const kept = (shape: readonly number[], axes: Value): number[] =>
  shape.map((dim, axis) => (axesOf(axes).includes(axis) ? 1 : dim))

function inverse(perm: readonly number[]): number[] {
  const places: number[] = []
  perm.forEach((from, to) => {
    places[from] = to
  })
  return places
}
