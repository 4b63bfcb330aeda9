/** The graph that an extractor runs: token ids in, the hidden states of chosen layers out. */
import { Failure } from '../failure.ts'
import { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'
import { positions } from './attention.ts'
import type { Family } from './config.ts'
import type { DecoderLayer } from './decoder.ts'
import { embedding, rmsNorm } from './layers.ts'
import { llamaLayer } from './llama.ts'
import { Parameters } from './parameters.ts'
import { qwen2Layer } from './qwen2.ts'
import { qwen3Layer } from './qwen3.ts'
import type { Target } from './target.ts'

/** What hidden states are stored as; the 16-bit ones leave the graph as their bits, in U16. */
export type StoredDType = 'bf16' | 'f16' | 'f32'

/** Which hidden states leave the graph, and as what. */
export interface Captures {
  /** Ids of decoder layers, from 0; in the order stored. */
  readonly layers: readonly number[]
  /** Also the hidden state after the final norm. */
  readonly captureFinal: boolean
  readonly dtype: StoredDType
}

/** The decoder layer of each family. */
export const layerOf: { readonly [F in Family]: DecoderLayer } = {
  llama: llamaLayer,
  qwen2: qwen2Layer,
  qwen3: qwen3Layer,
}

/** The graph's outputs, in the order stored: `layer_1`, …, `final`. */
export const captureNames = ({ layers, captureFinal }: Captures): string[] => [
  ...layers.map((id) => `layer_${id}`),
  ...(captureFinal ? ['final'] : []),
]

/**
 * Input `input_ids` int64 [batch, tokens], padded on the right with any id. One output a capture,
 * named by `captureNames`, [batch, tokens, hidden]: of decoder layer i its raw output. What stands
 * at padded positions is of no use. Computes in float32, whatever the weights are stored in; layers
 * above the last one captured are left out.
 *
 * @throws  Failure `invalid`: a layer that the target lacks or that is named twice, or weights that
 *          do not fit the config
 */
export function hiddenStatesGraph(target: Target, captures: Captures): Graph {
  const { config } = target
  requireLayers(captures, config.layers)
  const graph = new Graph()
  const p = new Parameters(graph, target.weights, 'model')
  const ids = graph.input('input_ids', { dtype: 'I64', shape: ['batch', 'tokens'] })
  const size = { vocabSize: config.vocabSize, width: config.hiddenSize }
  let x = embedding(p.within('embed_tokens'), ids, size)
  const at = positions(graph, ids, config)
  const depth = captures.captureFinal ? config.layers : Math.max(...captures.layers) + 1
  const outputs: Value[] = []
  for (let id = 0; id < depth; id++) {
    x = layerOf[config.family](p.within(`layers.${id}`), x, at, config)
    outputs.push(x)
  }
  const wanted = captures.layers.map((id) => outputs[id])
  if (captures.captureFinal) wanted.push(rmsNorm(p.within('norm'), x, config.rmsNormEps))
  captureNames(captures).forEach((name, i) => {
    graph.output(name, stored(graph, name, { value: wanted[i], dtype: captures.dtype }))
  })
  return graph
}

/**
 * Rounded to nearest, ties to even, where it is computed, so that half the bytes leave the device.
 */
function stored(
  graph: Graph,
  name: string,
  { value, dtype }: { readonly value: Value; readonly dtype: StoredDType },
): Value {
  if (dtype === 'f32') return value
  const to = dtype === 'bf16' ? 'BF16' : 'F16'
  const rounded = graph.cast(`${name}:${dtype}`, value, to)
  return graph.node(`${name}:bits`, 'BitCast', [rounded], { to: 'U16' })
}

function requireLayers({ layers, captureFinal }: Captures, depth: number): void {
  const outside = layers.find((id) => !Number.isInteger(id) || id < 0 || id >= depth)
  const twice = layers.find((id, i) => layers.indexOf(id) !== i)
  const problem =
    outside !== undefined
      ? `the target has no layer ${outside}`
      : twice !== undefined
        ? `layer ${twice} is named twice`
        : layers.length === 0 && !captureFinal
          ? 'none is named'
          : undefined
  if (problem === undefined) return
  const want = `different ids from 0 to ${depth - 1}`
  throw new Failure(
    'invalid',
    `these layers cannot be captured: ${problem}. want=${want}, found=[${layers.join(', ')}]`,
    { remedy: 'Set target.layers.' },
  )
}
