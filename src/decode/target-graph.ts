/** The graph that decoding runs: token ids in, logits and hidden states out, the past kept. */
import { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'
import { type KeyValues, positionsUpTo } from '../models/attention.ts'
import { layerOf } from '../models/hidden-states.ts'
import { embedding, linear, rmsNorm } from '../models/layers.ts'
import { Parameters } from '../models/parameters.ts'
import type { Target } from '../models/target.ts'

/** Each of these stands for two tensors, of a decoder layer's keys and of its values. */
export const pastName = (layer: number, part: 'key' | 'value'): string => `past_${part}.${layer}`
export const presentName = (layer: number, part: 'key' | 'value'): string =>
  `present_${part}.${layer}`

/**
 * Inputs: `input_ids` int64 [1, tokens]; `rows` int64 [rows], of which of them logits are wanted;
 * `total` int64, their number and that of the positions before them; `past_key.i`, `past_value.i`
 * float32 [1, kvHeads, capacity, headDim] for each decoder layer i, capacity no less than `total`.
 *
 * Outputs: `logits` float32 [rows, vocab]; `present_key.i`, `present_value.i`: the past with these
 * tokens in it; where `layers` are named, `hidden` float32 [tokens, layers · hidden]: their raw
 * outputs side by side.
 *
 * @throws  Failure `invalid`: weights that do not fit the config
 */
export function decodingGraph(target: Target, layers: readonly number[]): Graph {
  const { config } = target
  const graph = new Graph()
  const p = new Parameters(graph, target.weights, 'model')
  const ids = graph.input('input_ids', { dtype: 'I64', shape: [1, 'tokens'] })
  const rows = graph.input('rows', { dtype: 'I64', shape: ['rows'] })
  const total = graph.input('total', { dtype: 'I64', shape: [], holds: ['total'] })
  const size = { vocabSize: config.vocabSize, width: config.hiddenSize }
  const at = positionsUpTo(graph, { tokens: total, rows: graph.integers([1]) }, config)
  let x = embedding(p.within('embed_tokens'), ids, size)
  const outputs: Value[] = []
  for (let id = 0; id < config.layers; id++) {
    const cache = keptIn(graph, id, [1, config.kvHeads, 'capacity', config.headDim])
    x = layerOf[config.family](p.within(`layers.${id}`), x, { ...at, cache }, config)
    outputs.push(x)
  }
  graph.output('logits', logits(p, x, { rows, target }))
  if (layers.length > 0) graph.output('hidden', sideBySide(graph, layers, outputs))
  return graph
}

function keptIn(graph: Graph, layer: number, shape: readonly (number | string)[]): KeyValues {
  const past = (part: 'key' | 'value') =>
    graph.input(pastName(layer, part), { dtype: 'F32', shape })
  return {
    past: () => [past('key'), past('value')],
    keep(key, value) {
      graph.output(presentName(layer, 'key'), key)
      graph.output(presentName(layer, 'value'), value)
    },
  }
}

/** Rows are chosen before the head, which costs as much as several layers. */
function logits(
  p: Parameters,
  x: Value,
  { rows, target }: { readonly rows: Value; readonly target: Target },
): Value {
  const { graph } = p
  const { config, hiddenSize, vocabSize } = target
  // [1, tokens, hidden] → [tokens, hidden] → [rows, hidden] → [rows, vocab]
  const flat = graph.node('final:flat', 'Reshape', [x, graph.integers([-1, hiddenSize])], {})
  const chosen = graph.node('final:rows', 'Gather', [flat, rows], { axis: 0 })
  const normed = rmsNorm(p.within('norm'), chosen, config.rmsNormEps)
  const root = config.tiedEmbeddings
    ? p.within('embed_tokens')
    : new Parameters(graph, target.weights, 'lm_head')
  return linear(root, normed, { out: vocabSize })
}

function sideBySide(graph: Graph, layers: readonly number[], outputs: readonly Value[]): Value {
  const [first, ...more] = layers.map((id) => outputs[id])
  const width = Number(first.shape[2])
  const joined = graph.node('hidden:joined', 'Concat', [first, ...more], { axis: 2 })
  const flat = graph.integers([-1, width * layers.length])
  return graph.node('hidden:flat', 'Reshape', [joined, flat], {})
}
