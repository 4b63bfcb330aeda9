/**
 * Tensors between a device and the process's own memory. A tensor on a device cannot be read
 * itself, which aborts the process: it goes through a graph that computes nothing, and comes out on
 * the other side.
 */
import { Graph } from '../graph/graph.ts'
import type { TensorType } from '../graph/ops.ts'
import { heldOutput, openResidentSession, type ResidentSession } from './resident-session.ts'
import type { SessionOptions } from './session.ts'

export type Movable = TensorType & { readonly name: string }

/** @param to  `device`: they are held under their names; `host`: read under them, as `readName` */
export function openMoving(
  tensors: readonly Movable[],
  to: 'device' | 'host',
  options: SessionOptions,
): Promise<ResidentSession> {
  const graph = new Graph()
  for (const { name, dtype, shape } of tensors) {
    const output = to === 'device' ? heldOutput(name) : readName(name)
    graph.output(output, graph.input(name, { dtype, shape }))
  }
  return openResidentSession(graph, options)
}

/** A graph's output has another name than its input. */
export const readName = (name: string): string => `read:${name}`
