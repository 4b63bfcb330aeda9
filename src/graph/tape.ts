/** What a graph was built from, in the order of building: what a walk back over it sees. */
import type { Builder } from './builder.ts'
import type { AttributesOf, InputsOf, Op, Value } from './ops.ts'

/** A composite and a region stand for the nodes that were added within them. */
export type Step = Node | Composite | Region

export interface Node<O extends Op = Op> {
  readonly name: string
  readonly op: O
  readonly inputs: InputsOf<O>
  readonly attributes: AttributesOf<O>
  readonly outputs: readonly [Value, ...Value[]]
  /** The line of model code that asked for it. */
  readonly origin: () => string
}

/** The gradient of one input, built only where somebody wants it; null where there is none. */
export type InputGradient = (() => Value) | null

/** Several nodes that have one gradient together. */
export interface Composite {
  readonly name: string
  readonly inputs: readonly (Value | undefined)[]
  /** What it computes, and behind that what its gradient wants kept. */
  readonly outputs: readonly Value[]
  /** @param g  of each output, where it has one */
  readonly vjp: (b: Builder, g: readonly (Value | undefined)[]) => readonly InputGradient[]
}

/** Nodes that can be built again from their inputs, in place of keeping what they compute. */
export interface Region {
  readonly name: string
  /** What `build` is given, and behind that what it reads beside: parameters, tables. */
  readonly inputs: readonly Value[]
  /** How many of the inputs `build` is given. */
  readonly given: number
  readonly outputs: readonly Value[]
  readonly build: (given: readonly Value[]) => readonly Value[]
}
