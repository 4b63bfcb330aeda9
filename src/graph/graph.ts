/**
 * A graph, built node by node: inputs, initializers, nodes, outputs. Types and shapes are checked
 * as nodes are added, so a wrong model fails where it is written. Runs nothing and reads no
 * weights.
 */
import { Failure } from '../failure.ts'
import { callerOutside, here } from './caller.ts'
import { folded } from './fold.ts'
import { inferRules } from './infer.ts'
import {
  type AttributesOf,
  describe,
  type ElementType,
  type InputsOf,
  type Op,
  type TensorType,
  type Value,
} from './ops.ts'
import { Mismatch, sameShape } from './shapes.ts'
import type { Composite, Node, Region, Step } from './tape.ts'

/** Bytes inside another file: a tensor of a safetensors file, where it lies. */
export interface ExternalData {
  /** Absolute, and no symlink. */
  readonly path: string
  /** What the file is called where it stands beside the model. */
  readonly name: string
  /** In bytes, from the start of the file. */
  readonly offset: number
  readonly bytes: number
}

export interface Initializer {
  readonly value: Value
  /** Little-endian bytes, or where they lie. */
  readonly data: Uint8Array | ExternalData
}

interface Output {
  readonly name: string
  readonly value: Value
}

/** Integers of a constant that is named by them. */
const namedMax = 16

/** An ONNX graph under construction. Its names are unique: a taken one is a Failure `invalid`. */
export class Graph {
  readonly inputs: Value[] = []
  readonly initializers: Initializer[] = []
  readonly nodes: Node[] = []
  readonly outputs: Output[] = []
  readonly #taken = new Set<string>()
  readonly #constants = new Map<string, Value>()
  readonly #numbers = new Map<Value, Float32Array>()
  readonly #bound = new Map<string, Value>()
  readonly #names: string
  #tape: Step[] = []
  #prefix = ''

  /** @param names  what all of its names begin with: of a graph within another one */
  constructor(names = '') {
    this.#names = names
  }

  /** Of what was built so far, in order. */
  get tape(): readonly Step[] {
    return this.#tape
  }

  /** What `build` adds is named under `prefix`, and stands on a tape of its own. */
  apart<T>(prefix: string, build: () => T): { readonly result: T; readonly tape: readonly Step[] } {
    const [outer, outerPrefix] = [this.#tape, this.#prefix]
    this.#tape = []
    this.#prefix = `${outerPrefix}${prefix}`
    try {
      return { result: build(), tape: this.#tape }
    } finally {
      this.#tape = outer
      this.#prefix = outerPrefix
    }
  }

  /** Adds what stands on the tape for nodes that were built apart. */
  record(step: Composite | Region): void {
    this.#tape.push(step)
  }

  /** `value` stands for the input of this name, which then is none. */
  bind(name: string, value: Value): void {
    this.#bound.set(name, value)
  }

  input(name: string, type: TensorType): Value {
    const bound = this.#bound.get(name)
    if (bound) return this.#fitting(name, bound, type)
    const value = { ...type, name: this.#claim(name) }
    this.inputs.push(value)
    return value
  }

  /** A tensor whose bytes stay in the file they are in. */
  external(name: string, type: TensorType, data: ExternalData): Value {
    const value = { ...type, name: this.#claim(name) }
    this.initializers.push({ value, data })
    return value
  }

  /** Float32 numbers of a given shape, kept in the graph. */
  floats(name: string, shape: readonly number[], numbers: Float32Array): Value {
    const value: Value = { dtype: 'F32', shape, name: this.#claim(name) }
    return this.#keep(value, numbers.slice())
  }

  /**
   * Integers known while building: a scalar for a number, else a vector. The same ones are kept
   * once.
   */
  integers(numbers: number | readonly number[], dtype: 'I64' | 'I32' = 'I64'): Value {
    const list = typeof numbers === 'number' ? [numbers] : numbers
    const key = `${dtype.toLowerCase()}(${JSON.stringify(numbers)})`
    const known = this.#constants.get(key)
    if (known) return known
    const shape = typeof numbers === 'number' ? [] : [list.length]
    // Its own content is a constant's best name, as long as that can be read.
    const name = list.length <= namedMax ? key : `${dtype}[${list.length}]:${this.#constants.size}`
    const value: Value = { dtype, shape, holds: list, name: this.#claimWhole(name) }
    const elements = dtype === 'I64' ? BigInt64Array.from(list, BigInt) : Int32Array.from(list)
    this.initializers.push({ value, data: new Uint8Array(elements.buffer) })
    this.#constants.set(key, value)
    return value
  }

  /** A float32 scalar known while building. The same one is kept once. */
  scalar(number: number): Value {
    const key = `f32(${Object.is(number, -0) ? '-0' : number})`
    const known = this.#constants.get(key)
    if (known) return known
    const value: Value = { dtype: 'F32', shape: [], name: this.#claimWhole(key) }
    this.#constants.set(key, value)
    return this.#keep(value, Float32Array.of(number))
  }

  /** The numbers of a float32 constant that stand in the graph itself. */
  numbers(value: Value): Float32Array | undefined {
    return this.#numbers.get(value)
  }

  /**
   * Adds a node; its outputs are named after it.
   *
   * @throws Failure `invalid`: the operator does not take these types and shapes; names node,
   *         inputs and the line that asked for it
   */
  add<O extends Op>(
    name: string,
    op: O,
    inputs: InputsOf<O>,
    attributes: AttributesOf<O>,
  ): readonly [Value, ...Value[]] {
    const [first, ...more] = this.#infer(name, op, inputs, attributes)
    const known = folded(
      op,
      inputs.map((input) => input && this.numbers(input)),
      first,
    )
    if (known) return [this.floats(name, known.shape, known.numbers)]
    const outputs: [Value, ...Value[]] = [{ ...first, name: this.#claim(name) }]
    for (const type of more) {
      outputs.push({ ...type, name: this.#claim(`${name}:${outputs.length}`) })
    }
    const asked = here()
    const origin = () => callerOutside(asked)
    const node: Node<O> = { name: outputs[0].name, op, inputs, attributes, outputs, origin }
    this.nodes.push(node)
    this.#tape.push(node)
    return outputs
  }

  /** Adds a node of which only the first output is wanted; most have no other. */
  node<O extends Op>(name: string, op: O, inputs: InputsOf<O>, attributes: AttributesOf<O>): Value {
    return this.add(name, op, inputs, attributes)[0]
  }

  cast(name: string, x: Value, to: ElementType): Value {
    return x.dtype === to ? x : this.node(name, 'Cast', [x], { to })
  }

  output(name: string, value: Value): void {
    if (this.outputs.some((output) => output.name === name)) {
      throw new Failure('invalid', `two outputs of one name. name=${name}`)
    }
    this.outputs.push({ name, value })
  }

  #fitting(name: string, bound: Value, type: TensorType): Value {
    if (bound.dtype === type.dtype && sameShape(bound.shape, type.shape)) return bound
    const facts = `input=${name}, want=${describe(type)}, found=${describe(bound)}`
    throw new Failure('invalid', `an input is bound to a value of another kind. ${facts}`)
  }

  #infer<O extends Op>(name: string, op: O, inputs: InputsOf<O>, attributes: AttributesOf<O>) {
    try {
      return inferRules[op](inputs, attributes)
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      const shapes = inputs.map((input) => (input ? describe(input) : '-')).join(', ')
      const facts = `node=${this.#prefix}${name}, op=${op}, problem=${error.message}`
      const where = `inputs=(${shapes}), at=${callerOutside(here())}`
      throw new Failure('invalid', `an operator does not take its inputs. ${facts}, ${where}`)
    }
  }

  #keep(value: Value, numbers: Float32Array<ArrayBuffer>): Value {
    this.initializers.push({ value, data: new Uint8Array(numbers.buffer) })
    this.#numbers.set(value, numbers)
    return value
  }

  #claim(name: string): string {
    return this.#claimWhole(`${this.#prefix}${name}`)
  }

  #claimWhole(local: string): string {
    const name = `${this.#names}${local}`
    if (this.#taken.has(name)) throw new Failure('invalid', `name taken in the graph. name=${name}`)
    this.#taken.add(name)
    return name
  }
}
