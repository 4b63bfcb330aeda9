/** What of a graph its outputs need. Gradients nobody asked for are built on the way, and go. */
import type { Graph, Initializer } from './graph.ts'
import type { Node } from './tape.ts'

/** @returns  nodes and initializers that some output depends on, in the graph's order */
export function reachable(graph: Graph): {
  readonly nodes: readonly Node[]
  readonly initializers: readonly Initializer[]
} {
  const wanted = new Set(graph.outputs.map(({ value }) => value.name))
  const nodes: Node[] = []
  for (const node of graph.nodes.toReversed()) {
    if (!node.outputs.some((output) => wanted.has(output.name))) continue
    nodes.push(node)
    for (const name of usedBy(node)) wanted.add(name)
  }
  return {
    nodes: nodes.reverse(),
    initializers: graph.initializers.filter(({ value }) => wanted.has(value.name)),
  }
}

/** What a node computes from, and what a graph within it takes from the one around it. */
export function usedBy({ inputs, attributes }: Node): readonly string[] {
  const given = inputs.flatMap((input) => input?.name ?? [])
  const within = 'body' in attributes ? attributes.body.graph : undefined
  if (!within) return given
  const outputs = within.outputs.map(({ value }) => value.name)
  return [...given, ...outputs, ...reachable(within).nodes.flatMap(usedBy)]
}
