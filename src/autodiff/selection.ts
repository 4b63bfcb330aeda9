/** Gradients of operators that pick, join and cut: each element's goes back to its place. */
import { Failure } from '../failure.ts'
import type { Builder } from '../graph/builder.ts'
import { lengths } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'
import type { InputGradient } from '../graph/tape.ts'
import type { Pull } from './rules.ts'

/** Of an embedding: rows that were picked more than once add up. */
export function picked({ b, node }: Pull<'Gather'>, g: Value): readonly InputGradient[] {
  const [data, indices] = node.inputs
  const { axis } = node.attributes
  const axes = g.shape.map((_, i) => i)
  const of = axes.slice(axis, axis + indices.shape.length)
  const beside = axes.filter((i) => !of.includes(i))
  const [length, ...content] = axisFirst(lengths(data), axis)
  const rows = lengths(indices).reduce((product, dim) => product * dim, 1)
  return [
    () => {
      // What the indices span comes first, as rows; the axes beside it are a row's content.
      const turned = axis === 0 ? g : b.transpose(g, [...of, ...beside])
      const updates = b.reshape(turned, [rows, ...content])
      const sum = added(b, { shape: [length, ...content], indices, updates })
      return axis === 0 ? sum : b.transpose(sum, axisBack(data.shape.length, axis))
    },
    null,
  ]
}

const axisFirst = (shape: readonly number[], axis: number): number[] => [
  shape[axis],
  ...shape.filter((_, i) => i !== axis),
]

/** The permutation that brings axis 0 to its place. */
const axisBack = (rank: number, axis: number): number[] =>
  Array.from({ length: rank }, (_, i) => (i === axis ? 0 : i < axis ? i + 1 : i))

interface Updates {
  readonly shape: readonly number[]
  readonly indices: Value
  readonly updates: Value
}

function added(b: Builder, { shape, indices, updates }: Updates): Value {
  const zeros = b.expand(b.scalar(0), shape)
  const column = b.reshape(b.graph.cast(b.name('rows'), indices, 'I64'), [
    Number(updates.shape[0]),
    1,
  ])
  return b.op('ScatterND', [zeros, column, updates], { reduction: { text: 'add' } })
}

export function scattered({ b, node }: Pull<'ScatterND'>, g: Value): readonly InputGradient[] {
  const [, indices] = node.inputs
  const { text } = node.attributes.reduction
  if (text !== 'add') {
    const facts = `node=${node.name}, reduction=${text}, at=${node.origin()}`
    throw new Failure('invalid', `only a scatter that adds has a gradient here. ${facts}`)
  }
  const flat = () => b.reshape(indices, [Number(indices.shape[0])])
  return [() => g, null, () => b.op('Gather', [g, flat()], { axis: 0 })]
}

export function joined({ b, node }: Pull<'Concat'>, g: Value): readonly InputGradient[] {
  const { axis } = node.attributes
  const sizes = node.inputs.map((part) => lengths(part)[axis])
  let parts: readonly Value[] | undefined
  return sizes.map((_, i) => () => {
    parts ??= sizes.length === 1 ? [g] : b.split(g, sizes, axis)
    return parts[i]
  })
}

export function cut({ b, node, g }: Pull<'Split'>): readonly InputGradient[] {
  const zeros = (part: Value) => b.expand(b.scalar(0), lengths(part))
  const [first, ...more] = node.outputs.map((part, i) => g[i] ?? zeros(part))
  return [() => b.concat([first, ...more], node.attributes.axis), null]
}

/** Zeros before and behind what was cut out, axis by axis. */
export function sliced({ b, node }: Pull<'Slice'>, g: Value): readonly InputGradient[] {
  const [x, starts, , axes] = node.inputs
  const from = (starts.holds ?? []).map(Number)
  return [
    () =>
      (axes.holds ?? []).map(Number).reduce((part, axis, i) => {
        const [length, own] = [lengths(x)[axis], lengths(part)[axis]]
        const zeros = (count: number) => {
          const shape = lengths(part).map((dim, j) => (j === axis ? count : dim))
          return count > 0 ? [b.expand(b.scalar(0), shape)] : []
        }
        const [first, ...more] = [...zeros(from[i]), part, ...zeros(length - from[i] - own)]
        return b.concat([first, ...more], axis)
      }, g),
    null,
    null,
    null,
  ]
}
