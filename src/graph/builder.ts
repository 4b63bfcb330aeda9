/** Arithmetic on a graph's values, for code that has no names to give: composites and gradients. */
import type { Graph } from './graph.ts'
import type { AttributesOf, InputsOf, Op, Value } from './ops.ts'

/** Which operands of a matrix product are transposed in their last two axes, and its factor. */
export interface ProductOptions {
  readonly transA?: boolean
  readonly transB?: boolean
  readonly alpha?: number
}

/** Adds nodes named under one prefix: `prefix.mul`, `prefix.mul.1`, … All shapes are numbers. */
export class Builder {
  readonly graph: Graph
  readonly #prefix: string
  readonly #used = new Map<string, number>()

  constructor(graph: Graph, prefix: string) {
    this.graph = graph
    this.#prefix = prefix
  }

  op<O extends Op>(op: O, inputs: InputsOf<O>, attributes: AttributesOf<O>): Value {
    return this.ops(op, inputs, attributes)[0]
  }

  /** Of an operator with more than one output. */
  ops<O extends Op>(
    op: O,
    inputs: InputsOf<O>,
    attributes: AttributesOf<O>,
  ): readonly [Value, ...Value[]] {
    return this.graph.add(this.name(op.toLowerCase()), op, inputs, attributes)
  }

  /** A name that is not taken yet, for what is computed here. */
  name(local: string): string {
    const times = this.#used.get(local) ?? 0
    this.#used.set(local, times + 1)
    return times === 0 ? `${this.#prefix}.${local}` : `${this.#prefix}.${local}.${times}`
  }

  add = (x: Value, y: Value): Value => this.op('Add', [x, y], {})
  sub = (x: Value, y: Value): Value => this.op('Sub', [x, y], {})
  div = (x: Value, y: Value): Value => this.op('Div', [x, y], {})
  neg = (x: Value): Value => this.op('Neg', [x], {})

  /** A factor that is known to be 1 costs nothing. */
  mul(x: Value, y: Value): Value {
    if (this.#isOne(y)) return x
    if (this.#isOne(x)) return y
    return this.op('Mul', [x, y], {})
  }

  scalar = (number: number): Value => this.graph.scalar(number)

  matmul(a: Value, b: Value, { transA, transB, alpha = 1 }: ProductOptions = {}): Value {
    const factor = { float: alpha }
    return this.op('FusedMatMul', [a, b], {
      transA: transA ? 1 : 0,
      transB: transB ? 1 : 0,
      alpha: factor,
    })
  }

  reshape(x: Value, shape: readonly number[]): Value {
    const same = x.shape.length === shape.length && x.shape.every((dim, i) => dim === shape[i])
    return same ? x : this.op('Reshape', [x, this.graph.integers(shape)], {})
  }

  transpose = (x: Value, perm: readonly number[]): Value => this.op('Transpose', [x], { perm })

  sum(x: Value, axes: readonly number[], keepdims: 0 | 1 = 1): Value {
    return axes.length === 0
      ? x
      : this.op('ReduceSum', [x, this.graph.integers(axes)], { keepdims })
  }

  expand(x: Value, shape: readonly number[]): Value {
    const same = x.shape.length === shape.length && x.shape.every((dim, i) => dim === shape[i])
    return same ? x : this.op('Expand', [x, this.graph.integers(shape)], {})
  }

  concat(parts: readonly [Value, ...Value[]], axis: number): Value {
    return parts.length === 1 ? parts[0] : this.op('Concat', parts, { axis })
  }

  split(x: Value, lengths: readonly number[], axis: number): readonly Value[] {
    return this.ops('Split', [x, this.graph.integers(lengths)], { axis })
  }

  /** Rows [from, to) of the first axis. */
  rows(x: Value, from: number, to: number): Value {
    if (from === 0 && to === x.shape[0]) return x
    const [starts, ends, axes] = [[from], [to], [0]].map((list) => this.graph.integers(list))
    return this.op('Slice', [x, starts, ends, axes], {})
  }

  /**
   * `x`, to be computed with only once `y` is there: costs nothing, and keeps onnxruntime, which
   * orders nodes by what they need alone, from holding the parts of a big work all at once.
   */
  after(x: Value, y: Value): Value {
    const some = y.shape.length > 0 ? y : this.reshape(y, [1])
    const length = this.op('Shape', [some], { start: 0, end: 1 })
    const zero = this.op('Mul', [length, this.graph.integers([0])], {})
    const shape = this.op('Add', [this.graph.integers(lengths(x)), zero], {})
    return this.op('Reshape', [x, shape], {})
  }

  #isOne(x: Value): boolean {
    return x.shape.length === 0 && this.graph.numbers(x)?.[0] === 1
  }
}

/** The shape of a value all of whose dimensions are numbers. */
export const lengths = (x: Value): number[] =>
  x.shape.map((dim) => {
    if (typeof dim === 'number') return dim
    throw new TypeError(`a dimension is not fixed. value=${x.name}, dimension=${dim}`)
  })
