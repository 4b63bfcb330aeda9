/**
 * A graph in operators that every provider computes. WebGPU's, in onnxruntime 1.30, leaves
 * `FusedMatMul` to the processor, and gives another number than 1 / √(mean(x²) + ε) as the second
 * output of `SimplifiedLayerNormalization`.
 */
import { Builder } from './builder.ts'
import type { Graph } from './graph.ts'
import type { Op, Value } from './ops.ts'
import type { Node } from './tape.ts'

/** In place, once the gradients are built: the rules of gradients know the fused ones. */
export function lower(graph: Graph): void {
  for (const node of graph.nodes.splice(0)) {
    if (isOf(node, 'FusedMatMul')) lowerProduct(graph, node)
    else if (isOf(node, 'SimplifiedLayerNormalization')) lowerNorm(graph, node)
    else graph.nodes.push(node)
  }
}

const isOf = <O extends Op>(node: Node, op: O): node is Node<O> => node.op === op

function lowerProduct(
  graph: Graph,
  { name, inputs, attributes, outputs, origin }: Node<'FusedMatMul'>,
) {
  const b = new Builder(graph, `${name}:plain`)
  const turned = (x: Value, isTurned: 0 | 1) => {
    const axes = x.shape.map((_, axis) => axis)
    return isTurned ? b.transpose(x, [...axes.slice(0, -2), axes.length - 1, axes.length - 2]) : x
  }
  const factors = [
    turned(inputs[0], attributes.transA),
    turned(inputs[1], attributes.transB),
  ] as const
  const alpha = attributes.alpha.float
  const last =
    alpha === 1
      ? ({ op: 'MatMul', inputs: factors } as const)
      : ({ op: 'Mul', inputs: [b.op('MatMul', factors, {}), b.scalar(alpha)] } as const)
  graph.nodes.push({ ...last, name, attributes: {}, outputs, origin })
}

function lowerNorm(graph: Graph, node: Node<'SimplifiedLayerNormalization'>) {
  const [y, root] = node.outputs
  graph.nodes.push({ ...node, outputs: [y] })
  if (root === undefined) return
  const b = new Builder(graph, `${node.name}:plain`)
  const [x] = node.inputs
  const last = graph.integers([x.shape.length - 1])
  const mean = b.op('ReduceMean', [b.mul(x, x), last], { keepdims: 1 })
  const found = b.op('Sqrt', [b.add(mean, b.scalar(node.attributes.epsilon.float))], {})
  const { origin } = node
  graph.nodes.push({
    name: root.name,
    op: 'Reciprocal',
    inputs: [found],
    attributes: {},
    outputs: [root],
    origin,
  })
}
