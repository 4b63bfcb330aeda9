/**
 * DFlash, the drafter: a few decoder layers in which a block of mask tokens looks at what the
 * target computed of the text before it, so that all of its tokens are drafted at once. Its pieces,
 * which training and decoding put together; how a block attends is theirs. Rows are tokens: of the
 * context, or slots of blocks.
 *
 * @source  arXiv 2602.06036; z-lab/dflash `model.py`
 */
import { swiglu } from '../autodiff/swiglu.ts'
import type { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'
import type { DrafterConfig } from './drafter-config.ts'
import type { Parameters } from './parameters.ts'
import { rotarySpeeds } from './rope.ts'

/**
 * How far the heads of some rows are turned: each by the line of the tables that stands at its
 * place in `positions`.
 */
export interface Turning {
  /** int64 [parts, rows / parts], no part longer than the tables: onnxruntime takes none. */
  readonly positions: Value
  /** float32 [lines, headDim / 2] */
  readonly cos: Value
  readonly sin: Value
}

/** Of each row, both float32 [rows, kvHeads · headDim]; keys normalised and turned. */
export interface KeysValues {
  readonly key: Value
  readonly value: Value
}

/**
 * One layer's attention, of blocks to their context and to themselves.
 *
 * @param query  float32 [rows, heads · headDim], normalised and turned
 * @returns      float32, the shape of the query
 */
export type Attend = (query: Value, block: KeysValues) => Value

/**
 * @param positions  float32 [lines, 1]
 * @returns          cosine and sine of each line's angles
 */
export function rotaryTable(
  graph: Graph,
  { name, positions }: { readonly name: string; readonly positions: Value },
  config: DrafterConfig,
): Pick<Turning, 'cos' | 'sin'> {
  const speeds = rotarySpeeds(config)
  const speed = graph.floats(`${name}.speeds`, [speeds.length], speeds)
  const angles = graph.node(`${name}.angles`, 'Mul', [positions, speed], {})
  return {
    cos: graph.node(`${name}.cos`, 'Cos', [angles], {}),
    sin: graph.node(`${name}.sin`, 'Sin', [angles], {}),
  }
}

/**
 * What all layers see of the context; no layer norms it again.
 *
 * @param hidden  float32 [rows, layers of the target · hidden], in the order of `targetLayerIds`
 * @returns       float32 [rows, hidden]
 */
export function contextFeature(p: Parameters, hidden: Value, config: DrafterConfig): Value {
  const fused = project(p.within('fc'), hidden, { out: config.hiddenSize })
  return normed(p.within('hidden_norm'), fused, config)
}

/**
 * @param p    of the layer
 * @param x    float32 [rows, hidden]: context features, or a block's normed rows
 * @param of   which of the two, for names
 */
export function keysValues(
  p: Parameters,
  x: Value,
  { of, turning, config }: { of: 'context' | 'block'; turning: Turning; config: DrafterConfig },
): KeysValues {
  const attention = p.within('self_attn')
  const out = config.kvHeads * config.headDim
  const key = project(attention.within('k_proj'), x, { out, of })
  return {
    key: turned(attention.within('k_norm'), key, { of, turning, config }),
    value: project(attention.within('v_proj'), x, { out, of }),
  }
}

/**
 * x ← x + attention(norm x); x ← x + mlp(norm x).
 *
 * @param p  of the layer
 * @param x  float32 [rows, hidden]: the slots of blocks
 */
export function drafterLayer(
  p: Parameters,
  x: Value,
  { turning, attend, config }: { turning: Turning; attend: Attend; config: DrafterConfig },
): Value {
  const { graph } = p
  const attention = p.within('self_attn')
  const before = normed(p.within('input_layernorm'), x, config)
  const out = config.heads * config.headDim
  const query = turned(
    attention.within('q_norm'),
    project(attention.within('q_proj'), before, { out }),
    { of: 'block', turning, config },
  )
  const mixed = attend(query, keysValues(p, before, { of: 'block', turning, config }))
  const back = project(attention.within('o_proj'), mixed, { out: config.hiddenSize })
  const middle = graph.node(p.name('after_attention'), 'Add', [x, back], {})
  const second = normed(p.within('post_attention_layernorm'), middle, config)
  return graph.node(p.name('output'), 'Add', [middle, mlp(p.within('mlp'), second, config)], {})
}

/** down(silu(gate x) ⊙ up x). */
function mlp(p: Parameters, x: Value, config: DrafterConfig): Value {
  const gate = project(p.within('gate_proj'), x, { out: config.intermediateSize })
  const up = project(p.within('up_proj'), x, { out: config.intermediateSize })
  const [gated] = swiglu(p.graph, p.name('gated'), [gate, up], {})
  return project(p.within('down_proj'), gated, { out: config.hiddenSize })
}

/** After the last layer, before the target's head. */
export const finalNorm = (p: Parameters, x: Value, config: DrafterConfig): Value =>
  normed(p.within('norm'), x, config)

/** x Wᵀ; the weight is used for context and block, so the node is told apart by `of`. */
function project(p: Parameters, x: Value, { out, of }: { out: number; of?: string }): Value {
  const weight = p.get('weight', [out, Number(x.shape.at(-1))])
  return p.graph.node(p.name(of ? `${of}.product` : 'product'), 'FusedMatMul', [x, weight], {
    transA: 0,
    transB: 1,
    alpha: { float: 1 },
  })
}

/** The operator that keeps what its gradient needs. */
function normed(p: Parameters, x: Value, config: DrafterConfig, node = p.name('norm')): Value {
  const scale = p.get('weight', [Number(x.shape.at(-1))])
  return p.graph.node(node, 'SimplifiedLayerNormalization', [x, scale], {
    axis: -1,
    epsilon: { float: config.rmsNormEps },
    stash_type: 1,
  })
}

/** Each head normalised, then turned by its row's position. */
function turned(
  p: Parameters,
  x: Value,
  { of, turning, config }: { of: 'context' | 'block'; turning: Turning; config: DrafterConfig },
): Value {
  const { graph } = p
  const { headDim } = config
  const width = Number(x.shape[1])
  const name = (local: string) => p.name(`${of}.${local}`)
  const reshape = (local: string, value: Value, shape: readonly number[]) =>
    graph.node(name(local), 'Reshape', [value, graph.integers(shape)], {})
  // [rows, heads · headDim] → [rows, heads, headDim] → [parts, rows / parts, heads · headDim] → …
  const apart = reshape('heads', x, [0, width / headDim, headDim])
  const parts = Number(turning.positions.shape[0])
  const row = reshape('row', normed(p, apart, config, name('norm')), [parts, -1, width])
  const inputs = [row, turning.positions, turning.cos, turning.sin] as const
  const settings = {
    num_heads: width / headDim,
    rotary_embedding_dim: headDim,
    interleaved: 0,
  } as const
  return reshape('rows', graph.node(name('turned'), 'RotaryEmbedding', inputs, settings), [
    -1,
    width,
  ])
}
