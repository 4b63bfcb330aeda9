/** Reverse mode, from graph to graph: the nodes of a loss's gradients join its own. */
import { Failure } from '../failure.ts'
import { Builder, lengths } from '../graph/builder.ts'
import type { Graph } from '../graph/graph.ts'
import type { Op, Value } from '../graph/ops.ts'
import type { InputGradient, Node, Region, Step } from '../graph/tape.ts'
import { vjpRules } from './rules.ts'

/**
 * @param loss  float32 scalar
 * @param wrt   values that the loss depends on: inputs, or what is computed from them
 * @returns     dloss/dx for each x of `wrt`, float32, in its shape
 * @throws      Failure `invalid`: the loss is no scalar, does not depend on a value, or depends on
 *              it through an operator that has no gradient here
 */
export function gradients(graph: Graph, loss: Value, wrt: readonly Value[]): Value[] {
  if (loss.shape.length > 0) {
    throw new Failure('invalid', `a loss is no scalar. loss=${loss.name}, shape=[${loss.shape}]`)
  }
  const { tape } = graph
  const { result } = graph.apart('grad:', () => {
    const walk = new Walk(graph, wrt)
    const found = walk.back(tape, new Map([[loss.name, graph.scalar(1)]]))
    return wrt.map((value) => found.get(value.name) ?? withoutEffect(value, loss))
  })
  return result
}

function withoutEffect(value: Value, loss: Value): never {
  const facts = `value=${value.name}, loss=${loss.name}`
  throw new Failure('invalid', `a loss does not depend on a value. ${facts}`)
}

/** What a step's way back goes by: gradients of its outputs, and who depends on `wrt`. */
interface Back {
  readonly g: readonly (Value | undefined)[]
  readonly names: ReadonlySet<string>
}

/** Values' gradients by name, as far as they are summed. */
type Found = Map<string, Value>

class Walk {
  readonly #graph: Graph
  readonly #wrt: readonly Value[]
  readonly #sums = new Map<string, number>()

  constructor(graph: Graph, wrt: readonly Value[]) {
    this.#graph = graph
    this.#wrt = wrt
  }

  /** Adds to `found` the gradients of all that the steps of a tape compute from `wrt`. */
  back(tape: readonly Step[], found: Found): Found {
    const names = dependents(tape, this.#wrt)
    for (const step of tape.toReversed()) {
      const g = step.outputs.map((output) => found.get(output.name))
      if (g.every((gradient) => gradient === undefined)) continue
      if (!step.inputs.some((input) => input && names.has(input.name))) continue
      this.#through(step, { g, names }).forEach((gradient, i) => {
        const input = step.inputs[i]
        if (gradient && input && names.has(input.name)) this.#add(found, input, gradient())
      })
    }
    return found
  }

  #through(step: Step, { g, names }: Back): readonly InputGradient[] {
    const b = new Builder(this.#graph, step.name)
    if ('vjp' in step) return step.vjp(b, g)
    return 'build' in step ? this.#again(step, { g, names }) : throughNode(step, g, b)
  }

  /** A shared value's gradient is the sum over those who use it. */
  #add(found: Found, input: Value, gradient: Value): void {
    const before = found.get(input.name)
    found.set(input.name, before ? this.#sum(input, before, gradient) : gradient)
  }

  /** One value may come as the gradient of several uses: each sum has a name of its own. */
  #sum(input: Value, before: Value, gradient: Value): Value {
    const local = `${input.name}+${gradient.name}`
    const times = this.#sums.get(local) ?? 0
    this.#sums.set(local, times + 1)
    const name = times === 0 ? local : `${local}.${times}`
    return this.#graph.node(name, 'Add', [before, gradient], {})
  }

  /** Builds the region once more, not before its outputs' gradients are there, and walks that. */
  #again(region: Region, { g, names }: Back): readonly InputGradient[] {
    const b = new Builder(this.#graph, `${region.name}:again`)
    const moment = g.find((gradient) => gradient !== undefined)
    if (!moment) return []
    const given = region.inputs.slice(0, region.given).map((input) => b.after(input, moment))
    const inputs = [...given, ...region.inputs.slice(region.given)]
    const { result: outputs, tape } = this.#graph.apart(b.name(''), () => region.build(given))
    const seeds: Found = new Map()
    outputs.forEach(({ name }, i) => {
      const gradient = g[i]
      if (gradient) seeds.set(name, gradient)
    })
    const wanted = inputs.filter((_, i) => names.has(region.inputs[i].name))
    const found = new Walk(this.#graph, wanted).back(tape, seeds)
    return inputs.map(({ name }) => {
      const gradient = found.get(name)
      return gradient ? () => gradient : null
    })
  }
}

/** The names of `wrt` and of all that is computed from them. */
function dependents(tape: readonly Step[], wrt: readonly Value[]): ReadonlySet<string> {
  const names = new Set(wrt.map(({ name }) => name))
  for (const step of tape) {
    if (!step.inputs.some((input) => input && names.has(input.name))) continue
    for (const output of step.outputs) names.add(output.name)
  }
  return names
}

function throughNode<O extends Op>(
  node: Node<O>,
  g: readonly (Value | undefined)[],
  b: Builder,
): readonly InputGradient[] {
  return vjpRules[node.op]({ b, node, g, shape: (x: Value) => lengths(x) })
}
