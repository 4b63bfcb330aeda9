/**
 * The graph that drafts a block: new context rows and the last token in, logits of the slots out.
 */
import { Builder } from '../graph/builder.ts'
import { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'
import {
  contextFeature,
  drafterLayer,
  finalNorm,
  type KeysValues,
  keysValues,
  rotaryTable,
  type Turning,
} from './dflash.ts'
import { draftAttention } from './draft-attention.ts'
import type { DraftVocab } from './draft-vocab.ts'
import type { Drafter } from './drafter.ts'
import type { DrafterConfig } from './drafter-config.ts'
import { requireSameTarget } from './drafter-fit.ts'
import { embedding } from './layers.ts'
import { Parameters } from './parameters.ts'
import type { Target } from './target.ts'

/**
 * Keys and values of the context are kept by whoever runs it: rows [positions, kvHeads · headDim]
 * that are appended to, and cut off by leaving the last ones out; a block's own never stay.
 *
 * Inputs: `context` float32 [fresh, layers · hidden], the target's states at the positions behind
 * those kept; `anchor` int64 [1], the token that follows them; for each layer i `past_key_i`,
 * `past_value_i` float32 [past, kvHeads · headDim]. Outputs: `logits` float32 [slots, vocab], of
 * slots 1 … blockSize − 1, far below all others where a token cannot be drafted; `key_i`, `value_i`
 * float32 [fresh, kvHeads · headDim], to be appended.
 *
 * @throws  Failure `invalid`: drafter and target do not belong together
 */
export function draftGraph({ config, weights, draftVocab }: Drafter, target: Target): Graph {
  requireSameTarget(config, target)
  const graph = new Graph()
  const p = new Parameters(graph, weights, '')
  const width = config.targetLayerIds.length * config.hiddenSize
  const hidden = graph.input('context', { dtype: 'F32', shape: ['fresh', width] })
  const pasts = layersOf(config).map((i) => past(graph, i, config))
  const at = placesOf(graph, { hidden, past: pasts[0].key }, config)
  const feature = contextFeature(p, hidden, config)
  const own = new Parameters(graph, target.weights, '')
  let x = blockRows(own, config)
  for (const i of layersOf(config)) {
    const layer = p.within(`layers.${i}`)
    const fresh = keysValues(layer, feature, { of: 'context', turning: at.fresh, config })
    graph.output(`key_${i}`, fresh.key)
    graph.output(`value_${i}`, fresh.value)
    const context = { kept: pasts[i], fresh, anchor: at.anchor }
    const attend = draftAttention(graph, context, { i, config })
    x = drafterLayer(layer, x, { turning: at.block, attend, config })
  }
  graph.output('logits', logits(own, finalNorm(p, x, config), { config, target, draftVocab }))
  return graph
}

/** The logit of a token that the drafter cannot draft. */
const undraftable = -1e30

const layersOf = ({ layers }: DrafterConfig): number[] =>
  Array.from({ length: layers }, (_, i) => i)

function past(graph: Graph, i: number, { kvHeads, headDim }: DrafterConfig): KeysValues {
  const type = { dtype: 'F32', shape: ['past', kvHeads * headDim] } as const
  return { key: graph.input(`past_key_${i}`, type), value: graph.input(`past_value_${i}`, type) }
}

/** The known token and the masks behind it, as the target embeds them: float32 [slots, hidden]. */
function blockRows(target: Parameters, config: DrafterConfig): Value {
  const { graph } = target
  const anchor = graph.input('anchor', { dtype: 'I64', shape: [1] })
  const masks = new Array<number>(config.blockSize - 1).fill(config.maskTokenId)
  const ids = graph.node('block_ids', 'Concat', [anchor, graph.integers(masks)], { axis: 0 })
  const size = { vocabSize: config.vocabSize, width: config.hiddenSize }
  return embedding(target.within('model.embed_tokens'), ids, size)
}

/** Positions of the fresh rows, behind those kept, and of the block, behind both. */
function placesOf(
  graph: Graph,
  { hidden, past }: { readonly hidden: Value; readonly past: Value },
  config: DrafterConfig,
): { readonly fresh: Turning; readonly block: Turning; readonly anchor: Value } {
  const length = (name: string, x: Value) => {
    const shape = graph.node(`${name}:shape`, 'Shape', [x], { start: 0, end: 1 })
    return graph.node(name, 'Squeeze', [shape], {})
  }
  const [before, fresh] = [length('past', past), length('fresh', hidden)]
  const anchor = graph.node('anchor_position', 'Add', [before, fresh], {})
  const [zero, one] = [graph.integers(0), graph.integers(1)]
  const lines = graph.node('fresh:lines', 'Range', [zero, fresh, one], {})
  const slots = graph.integers(Array.from({ length: config.blockSize }, (_, k) => k))
  return {
    fresh: turning(graph, { name: 'fresh', lines, from: before }, config),
    block: turning(graph, { name: 'block', lines: slots, from: anchor }, config),
    anchor,
  }
}

/** Tables of the positions from + line alone, so that they stay as short as what is computed. */
function turning(
  graph: Graph,
  { name, lines, from }: { readonly name: string; readonly lines: Value; readonly from: Value },
  config: DrafterConfig,
): Turning {
  const moved = graph.node(`${name}:positions`, 'Add', [lines, from], {})
  const column = graph.node(
    `${name}:column`,
    'Reshape',
    [graph.cast(`${name}:f32`, moved, 'F32'), graph.integers([-1, 1])],
    {},
  )
  const row = graph.node(`${name}:row`, 'Reshape', [lines, graph.integers([1, -1])], {})
  return { positions: row, ...rotaryTable(graph, { name, positions: column }, config) }
}

interface Heading {
  readonly config: DrafterConfig
  readonly target: Target
  readonly draftVocab: DraftVocab | null
}

/** Of slots 1 … blockSize − 1, by the target's own head. */
function logits(own: Parameters, x: Value, { config, target, draftVocab }: Heading): Value {
  const { graph } = own
  const { blockSize, vocabSize, hiddenSize } = config
  const b = new Builder(graph, 'head')
  const [from, to, axes] = [[1], [blockSize], [0]].map((list) => graph.integers(list))
  const slots = b.op('Slice', [x, from, to, axes], {})
  const name = target.config.tiedEmbeddings ? 'model.embed_tokens' : 'lm_head'
  const weight = own.within(name).get('weight', [vocabSize, hiddenSize])
  if (draftVocab === null) return b.matmul(slots, weight, { transB: true })
  const ids = graph.integers(draftVocab.ids)
  const kept = b.op('Gather', [weight, ids], { axis: 0 })
  // [slots, drafted] → the columns that are theirs of [slots, vocab]
  const columns = b.matmul(kept, slots, { transB: true })
  const none = b.expand(b.scalar(undraftable), [vocabSize, blockSize - 1])
  const places = b.reshape(ids, [draftVocab.ids.length, 1])
  const all = b.op('ScatterND', [none, places, columns], { reduction: { text: 'none' } })
  return b.transpose(all, [1, 0])
}
