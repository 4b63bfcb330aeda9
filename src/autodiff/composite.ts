/** Composites: several nodes with one gradient, by hand where that is shorter or holds less. */
import { Failure } from '../failure.ts'
import { Builder } from '../graph/builder.ts'
import type { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'
import type { InputGradient } from '../graph/tape.ts'

/** One that may be left out is undefined. */
type Inputs = readonly (Value | undefined)[]

/** Both halves of a composite: one without its gradient does not compile. */
export interface CompositeRule<I extends Inputs, S, R extends readonly [Value, ...Value[]]> {
  /** @returns  what it computes, and behind that what its gradient wants kept */
  readonly forward: (b: Builder, inputs: I, settings: S) => R
  readonly vjp: (pull: CompositePull<I, S, R>) => readonly InputGradient[]
}

export interface CompositePull<I, S, R> {
  readonly b: Builder
  readonly inputs: I
  readonly settings: S
  readonly outputs: R
  /** Of the first output. The others carry none: a loss that depends on them is refused. */
  readonly g: Value
}

/** A loss that depends on it would miss a part of its gradient without a word. */
const withoutGradient = (name: string, output: number): Failure =>
  new Failure('invalid', `an output has no gradient here. of=${name}, output=${output} (from 0)`)

/** @returns  what adds the composite to a graph, its nodes named under `name` */
export function composite<I extends Inputs, S, R extends readonly [Value, ...Value[]]>({
  forward,
  vjp,
}: CompositeRule<I, S, R>): (graph: Graph, name: string, inputs: I, settings: S) => R {
  return (graph, name, inputs, settings) => {
    const { result: outputs } = graph.apart('', () =>
      forward(new Builder(graph, name), inputs, settings),
    )
    graph.record({
      name,
      inputs,
      outputs,
      vjp(b, [g, ...others]) {
        others.forEach((other, i) => {
          if (other) throw withoutGradient(name, i + 1)
        })
        return g ? vjp({ b, inputs, settings, outputs, g }) : []
      },
    })
    return outputs
  }
}
