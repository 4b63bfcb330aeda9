/** Runs a small graph with onnxruntime, from its bytes: for tests of what operators compute. */
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { encodeGraph } from '../../src/graph/encode.ts'
import type { Graph } from '../../src/graph/graph.ts'

/** Of 16-bit floats, the bits. */
export type Numbers = Float32Array | BigInt64Array | Uint16Array

/** Inputs by name; outputs by name. Runs the graph as it is, without onnxruntime's rewriting. */
export async function runnable(
  graph: Graph,
): Promise<(feeds: Readonly<Record<string, Numbers>>) => Promise<Record<string, Numbers>>> {
  const session = await InferenceSession.create(encodeGraph(graph), {
    graphOptimizationLevel: 'disabled',
    enableMemPattern: false,
    intraOpNumThreads: 1,
    logSeverityLevel: 4,
  })
  const shapes = new Map(graph.inputs.map(({ name, shape }) => [name, shape.map(Number)]))
  return async (feeds) => {
    const tensors = Object.entries(feeds).map(([name, data]) => {
      const shape = shapes.get(name)
      return [name, tensorOf(data, shape)] as const
    })
    const results = await session.run(Object.fromEntries(tensors))
    return Object.fromEntries(
      Object.entries(results).map(([name, { data }]) => [name, data as Numbers]),
    )
  }
}

function tensorOf(data: Numbers, shape: readonly number[] | undefined): Tensor {
  if (data instanceof BigInt64Array) return new Tensor('int64', data, shape)
  if (data instanceof Uint16Array) return new Tensor('uint16', data, shape)
  return new Tensor('float32', data, shape)
}
