/**
 * Checkpoint names → values of a graph, shapes checked, widened to the type that is computed in:
 * out of a checkpoint's files, or, where they change from run to run, inputs of those names.
 */
import { Failure } from '../failure.ts'
import type { Graph } from '../graph/graph.ts'
import type { ElementType, Value } from '../graph/ops.ts'
import type { Weights } from './weights.ts'

const storedTypes: Readonly<Record<string, ElementType | undefined>> = {
  F32: 'F32',
  F16: 'F16',
  BF16: 'BF16',
}

/**
 * The parameters under one prefix of the checkpoint's names: `model.layers.3.self_attn`, or none.
 */
export class Parameters {
  readonly graph: Graph
  readonly prefix: string
  readonly #weights: Weights | 'inputs'
  /** By name: a tensor that is asked for twice stands in the graph once. */
  #values = new Map<string, Value>()

  /** @param weights  where they lie; or `inputs`, each then float32 */
  constructor(graph: Graph, weights: Weights | 'inputs', prefix: string) {
    this.graph = graph
    this.#weights = weights
    this.prefix = prefix
  }

  within(name: string): Parameters {
    const inner = new Parameters(this.graph, this.#weights, this.name(name))
    inner.#values = this.#values
    return inner
  }

  /** The name in full: of a parameter, and of the node that computes with it. */
  name(local: string): string {
    return this.prefix === '' ? local : `${this.prefix}.${local}`
  }

  /**
   * The parameter as float32.
   *
   * @throws  Failure `invalid`: it is not in the checkpoint, or has another shape or an unfit type
   */
  get(local: string, shape: readonly number[]): Value {
    const stored = this.stored(local, shape)
    const name = `${stored.name}:f32`
    const value = this.#values.get(name) ?? this.graph.cast(name, stored, 'F32')
    this.#values.set(name, value)
    return value
  }

  /** The parameter in the type it is stored in. */
  stored(local: string, shape: readonly number[]): Value {
    const name = this.name(local)
    const known = this.#values.get(name)
    if (known) return known
    const value =
      this.#weights === 'inputs'
        ? this.graph.input(name, { dtype: 'F32', shape })
        : fromFile(this.graph, { weights: this.#weights, name, shape })
    this.#values.set(name, value)
    return value
  }
}

interface Wanted {
  readonly weights: Weights
  readonly name: string
  readonly shape: readonly number[]
}

function fromFile(graph: Graph, { weights, name, shape }: Wanted): Value {
  const weight = weights.tensors.get(name)
  if (!weight) {
    const facts = `dir=${weights.dir}, tensor=${name}, want=[${shape.join(', ')}]`
    throw new Failure('invalid', `a tensor is missing from the checkpoint. ${facts}`, {
      remedy: 'Download the checkpoint again; config.json and weights must belong together.',
    })
  }
  const dtype = storedTypes[weight.dtype]
  const fits =
    weight.shape.length === shape.length && weight.shape.every((dim, i) => dim === shape[i])
  if (!dtype || !fits) {
    const where = `file=${weight.file.path}, tensor=${name}`
    const want = `F32, F16 or BF16 [${shape.join(', ')}]`
    const found = `${weight.dtype} [${weight.shape.join(', ')}]`
    throw new Failure(
      'invalid',
      `a tensor does not fit the config. ${where}, want=${want}, found=${found}`,
      { remedy: 'config.json and weights must belong together; quantized weights are not read.' },
    )
  }
  const { start, end, file } = weight
  return graph.external(
    name,
    { dtype, shape },
    { path: file.path, name: file.name, offset: start, bytes: end - start },
  )
}
