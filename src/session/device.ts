/** Whether a device computes here, found out by letting it: on a graph of one node. */
import { join } from 'node:path'
import { Graph } from '../graph/graph.ts'
import { prepareModel } from './prepare.ts'
import { openSession } from './session.ts'

/**
 * @param work  where the tiny model is laid out
 * @throws      Failure `invalid`: there is no such device, or its provider is not installed
 */
export async function requireDevice(device: string, work: string): Promise<void> {
  // The processor is always there; onnxruntime need not be loaded to know that.
  if (device === 'cpu') return
  const graph = new Graph()
  const x = graph.input('x', { dtype: 'F32', shape: ['count'] })
  graph.output('y', graph.node('twice', 'Add', [x, x], {}))
  const model = await prepareModel(graph, join(work, 'model', 'device'), () => undefined)
  const session = await openSession(model, { device, threads: 1 })
  await session.run({ x: { dtype: 'F32', shape: [1], data: new Float32Array(1) } })
  await session.release()
}
