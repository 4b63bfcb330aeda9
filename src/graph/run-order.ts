/** The order in which nodes stand in a file, for the sake of that in which they run. */
import { usedBy } from './live.ts'
import type { Node } from './tape.ts'

/**
 * onnxruntime does not run nodes in the file's order: it begins at the last node that no other
 * needs, runs what that one needs, and goes on to the one before. So those nodes are put at the
 * end, the first of them last. Then the gradient of a layer's weight runs while what it is made of
 * is there; otherwise all of them run at the end, and all layers' values are kept until then.
 *
 * @source  onnxruntime 1.30, `GraphViewer`, `Graph::ReverseDFSFrom`
 */
export function inRunOrder(nodes: readonly Node[]): readonly Node[] {
  const needed = new Set(nodes.flatMap(usedBy))
  const isNeeded = ({ outputs }: Node) => outputs.some(({ name }) => needed.has(name))
  const ends = nodes.filter((node) => !isNeeded(node))
  return [...nodes.filter(isNeeded), ...ends.reverse()]
}
