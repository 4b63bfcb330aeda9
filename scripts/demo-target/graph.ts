/** The graph that trains a small Qwen3 on whole rows of text: the loss and its gradients. */
import { gradients } from '../../src/autodiff/backward.ts'
import { headLoss } from '../../src/autodiff/head-loss.ts'
import { swiglu } from '../../src/autodiff/swiglu.ts'
import { Graph } from '../../src/graph/graph.ts'
import type { Value } from '../../src/graph/ops.ts'
import type { TargetConfig } from '../../src/models/config.ts'
import { Parameters } from '../../src/models/parameters.ts'
import { rotarySpeeds } from '../../src/models/rope.ts'

export interface RowsShape {
  readonly rows: number
  readonly tokens: number
}

/** What all layers share. */
interface Setting {
  readonly config: TargetConfig
  readonly shape: RowsShape
  readonly positions: Value
  readonly cos: Value
  readonly sin: Value
  /** Added to scores: 0 where a token may look, far below where it may not. */
  readonly causal: Value
}

const unseen = -1e9
const logitBytes = 16 * 2 ** 20

/**
 * Inputs: `input_ids` int64 [rows · tokens], `labels` the same, `weights` float32 [rows · tokens],
 * and the parameters under their names in a checkpoint. Outputs: `loss`, Σ weight · cross-entropy;
 * `cross_entropy` and `predicted` of each token; where it trains, `grad:<parameter>`.
 */
export function causalGraph(
  config: TargetConfig,
  shape: RowsShape,
  { trains }: { readonly trains: boolean },
): { readonly graph: Graph; readonly parameters: readonly Value[] } {
  const graph = new Graph()
  const count = shape.rows * shape.tokens
  const ids = graph.input('input_ids', { dtype: 'I64', shape: [count] })
  const labels = graph.input('labels', { dtype: 'I64', shape: [count] })
  const weights = graph.input('weights', { dtype: 'F32', shape: [count] })
  const p = new Parameters(graph, 'inputs', 'model')
  const table = p.within('embed_tokens').get('weight', [config.vocabSize, config.hiddenSize])
  const at = settingOf(graph, config, shape)
  let x = graph.node('rows', 'Gather', [table, ids], { axis: 0 })
  for (let id = 0; id < config.layers; id++) x = layer(p.within(`layers.${id}`), x, at)
  const hidden = normed(p.within('norm'), x, at)
  const [loss, crossEntropy, predicted] = headLoss(
    graph,
    'head',
    [hidden, table, labels, weights],
    { logitBytes, trained: true },
  )
  graph.output('loss', loss)
  graph.output('cross_entropy', crossEntropy)
  graph.output('predicted', predicted)
  const parameters = graph.inputs.filter((value) => value.name.startsWith('model.'))
  if (trains) {
    gradients(graph, loss, parameters).forEach((gradient, i) => {
      graph.output(`grad:${parameters[i].name}`, gradient)
    })
  }
  return { graph, parameters }
}

function settingOf(graph: Graph, config: TargetConfig, shape: RowsShape): Setting {
  const { rows, tokens } = shape
  const each = Array.from({ length: tokens }, (_, i) => i)
  const list = graph.integers(Array.from({ length: rows }, () => each).flat())
  const positions = graph.node('positions', 'Reshape', [list, graph.integers([rows, tokens])], {})
  const column = graph.floats('positions:column', [tokens, 1], Float32Array.from(each))
  const speeds = rotarySpeeds(config)
  const speed = graph.floats('speeds', [speeds.length], speeds)
  const angles = graph.node('angles', 'Mul', [column, speed], {})
  // Query rows are those of all heads that share a key, one head's tokens after the other's.
  const queries = (tokens * config.heads) / config.kvHeads
  const mask = Float32Array.from({ length: queries * tokens }, (_, i) => {
    const [query, key] = [Math.floor(i / tokens) % tokens, i % tokens]
    return key <= query ? 0 : unseen
  })
  return {
    config,
    shape,
    positions,
    cos: graph.node('cos', 'Cos', [angles], {}),
    sin: graph.node('sin', 'Sin', [angles], {}),
    causal: graph.floats('causal', [queries, tokens], mask),
  }
}

/** @param x  float32 [rows · tokens, hidden] */
function layer(p: Parameters, x: Value, at: Setting): Value {
  const { graph } = p
  const mixed = attention(p.within('self_attn'), normed(p.within('input_layernorm'), x, at), at)
  const middle = graph.node(p.name('after_attention'), 'Add', [x, mixed], {})
  const second = normed(p.within('post_attention_layernorm'), middle, at)
  const { intermediateSize: inner, hiddenSize } = at.config
  const mlp = p.within('mlp')
  const gate = linear(mlp.within('gate_proj'), second, inner)
  const up = linear(mlp.within('up_proj'), second, inner)
  const [gated] = swiglu(graph, mlp.name('gated'), [gate, up], {})
  const down = linear(mlp.within('down_proj'), gated, hiddenSize)
  return graph.node(p.name('output'), 'Add', [middle, down], {})
}

/** softmax(q kᵀ / √headDim, causal) v, heads that share a key together in one product. */
function attention(p: Parameters, x: Value, at: Setting): Value {
  const { graph } = p
  const { heads, kvHeads, headDim, hiddenSize } = at.config
  const { rows, tokens } = at.shape
  const group = heads / kvHeads
  const reshape = (name: string, value: Value, shape: readonly number[]) =>
    graph.node(p.name(name), 'Reshape', [value, graph.integers(shape)], {})
  const project = (name: string, count: number) =>
    linear(p.within(`${name}_proj`), x, count * headDim)
  // [rows · tokens, heads · headDim] → [rows, kvHeads, group · tokens, headDim]
  const headsFirst = (name: string, value: Value, of: number) => {
    const apart = reshape(`${name}:apart`, value, [rows, tokens, kvHeads, of, headDim])
    const turned = graph.node(p.name(`${name}:first`), 'Transpose', [apart], {
      perm: [0, 2, 3, 1, 4],
    })
    return reshape(`${name}:heads`, turned, [rows, kvHeads, of * tokens, headDim])
  }
  const query = headsFirst('q', turned(p.within('q_norm'), project('q', heads), at), group)
  const key = headsFirst('k', turned(p.within('k_norm'), project('k', kvHeads), at), 1)
  const value = headsFirst('v', project('v', kvHeads), 1)
  const product = (name: string, a: Value, b: Value, transB: 0 | 1) =>
    graph.node(p.name(name), 'FusedMatMul', [a, b], {
      transA: 0,
      transB,
      alpha: { float: transB ? 1 / Math.sqrt(headDim) : 1 },
    })
  const scores = graph.node(
    p.name('masked'),
    'Add',
    [product('scores', query, key, 1), at.causal],
    {},
  )
  const shares = graph.node(p.name('shares'), 'Softmax', [scores], { axis: 3 })
  const mixed = product('mixed', shares, value, 0)
  const apart = reshape('mixed:apart', mixed, [rows, kvHeads, group, tokens, headDim])
  const back = graph.node(p.name('mixed:back'), 'Transpose', [apart], { perm: [0, 3, 1, 2, 4] })
  const flat = reshape('mixed:flat', back, [rows * tokens, heads * headDim])
  return linear(p.within('o_proj'), flat, hiddenSize)
}

/** Each head normalised, then turned by its position. */
function turned(p: Parameters, x: Value, at: Setting): Value {
  const { graph } = p
  const { headDim } = at.config
  const { rows, tokens } = at.shape
  const width = Number(x.shape[1])
  const heads = width / headDim
  const split = graph.integers([rows * tokens, heads, headDim])
  const apart = graph.node(p.name('heads'), 'Reshape', [x, split], {})
  const joined = graph.integers([rows, tokens, width])
  const whole = graph.node(p.name('joined'), 'Reshape', [normed(p, apart, at), joined], {})
  return graph.node(p.name('turned'), 'RotaryEmbedding', [whole, at.positions, at.cos, at.sin], {
    num_heads: heads,
    rotary_embedding_dim: headDim,
    interleaved: 0,
  })
}

/** x Wᵀ */
const linear = (p: Parameters, x: Value, out: number): Value =>
  p.graph.node(
    p.name('product'),
    'FusedMatMul',
    [x, p.get('weight', [out, Number(x.shape.at(-1))])],
    {
      transA: 0,
      transB: 1,
      alpha: { float: 1 },
    },
  )

const normed = (p: Parameters, x: Value, { config }: Setting): Value =>
  p.graph.node(
    p.name('norm'),
    'SimplifiedLayerNormalization',
    [x, p.get('weight', [Number(x.shape.at(-1))])],
    { axis: -1, epsilon: { float: config.rmsNormEps }, stash_type: 1 },
  )
