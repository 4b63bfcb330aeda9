/** Regions whose values are not kept for the way back, but computed again there. */
import type { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'

/**
 * Trades time for memory: of all that `build` computes only its outputs stay; the gradients' walk
 * builds it once more. Worth it where a region holds much and costs little, or memory is short.
 *
 * @param build  adds nodes to the graph, the same ones each time; may read parameters beside what
 *               it is given
 */
export function recomputed(
  graph: Graph,
  { name, inputs: given }: { readonly name: string; readonly inputs: readonly Value[] },
  build: (given: readonly Value[]) => readonly Value[],
): readonly Value[] {
  const { result: outputs, tape } = graph.apart('', () => build(given))
  const known = new Set(given.map((value) => value.name))
  const beside: Value[] = []
  for (const step of tape) {
    for (const input of step.inputs) {
      if (!input || known.has(input.name)) continue
      known.add(input.name)
      beside.push(input)
    }
    for (const output of step.outputs) known.add(output.name)
  }
  graph.record({ name, inputs: [...given, ...beside], given: given.length, outputs, build })
  return outputs
}
