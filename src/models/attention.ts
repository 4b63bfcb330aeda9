/**
 * Causal grouped-query attention with rotary positions, as onnxruntime's `GroupQueryAttention`:
 * linear memory in the number of tokens where a score matrix for each head would be quadratic.
 */
import type { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'
import type { TargetConfig } from './config.ts'
import { rotarySpeeds } from './rope.ts'

/** What all layers of one run share. */
export interface Positions {
  /** float32 [positions from 0, headDim / 2]. */
  readonly cos: Value
  readonly sin: Value
  /** int32 [batch], and int32: every row is as long as the batch is wide, past included. */
  readonly lastPosition: Value
  readonly tokens: Value
  /** Left out where rows begin at position 0 and nothing comes after. */
  readonly cache?: KeyValues
}

/** Where attention finds the keys and values of earlier positions, and leaves them for later. */
export interface KeyValues {
  /** float32 [batch, kvHeads, capacity, headDim], both. */
  past(): readonly [key: Value, value: Value]
  /** The same, with what came now behind what was before. */
  keep(key: Value, value: Value): void
}

/**
 * Tables for positions 0 … tokens − 1 of every row. Rows are padded on the right, if at all, and
 * causal attention never looks there: so padding needs no mask.
 *
 * @param ids  int64 [batch, tokens]
 */
export function positions(graph: Graph, ids: Value, config: TargetConfig): Positions {
  const length = graph.node('tokens:shape', 'Shape', [ids], { start: 1, end: 2 })
  const rows = graph.node('batch:shape', 'Shape', [ids], { start: 0, end: 1 })
  const tokens = graph.node('tokens', 'Squeeze', [length], {})
  return positionsUpTo(graph, { tokens, rows }, config)
}

/**
 * Tables for positions 0 … tokens − 1.
 *
 * @param size  `tokens` an int64 scalar, `rows` an int64 vector of one
 */
export function positionsUpTo(
  graph: Graph,
  { tokens, rows }: { readonly tokens: Value; readonly rows: Value },
  config: TargetConfig,
): Positions {
  const range = graph.node('positions', 'Range', [graph.integers(0), tokens, graph.integers(1)], {})
  // [tokens] → [tokens, 1] ⊙ [headDim / 2] → [tokens, headDim / 2]
  const column = graph.node(
    'positions:column',
    'Reshape',
    [graph.cast('positions:f32', range, 'F32'), graph.integers([-1, 1])],
    {},
  )
  const speeds = rotarySpeeds(config)
  const angles = graph.node(
    'angles',
    'Mul',
    [column, graph.floats('rotary_speeds', [speeds.length], speeds)],
    {},
  )
  const tokens32 = graph.cast('tokens:i32', tokens, 'I32')
  const last = graph.node('tokens:last', 'Sub', [tokens32, graph.integers(1, 'I32')], {})
  return {
    cos: graph.node('cos', 'Cos', [angles], {}),
    sin: graph.node('sin', 'Sin', [angles], {}),
    lastPosition: graph.node('last_position', 'Expand', [last, rows], {}),
    tokens: tokens32,
  }
}

/**
 * softmax(q kᵀ / √headDim, causal) v, after turning q and k by their position (half-split layout).
 * Query head h reads key head ⌊h · kvHeads / heads⌋.
 *
 * @param heads  query float32 [batch, tokens, heads · headDim]; key and value [batch, tokens,
 *               kvHeads · headDim]
 * @returns      float32, the shape of the query
 * @source       onnxruntime `ContribOperators.md`, `com.microsoft.GroupQueryAttention`
 */
export function attention(
  graph: Graph,
  name: string,
  heads: { readonly query: Value; readonly key: Value; readonly value: Value },
  at: Positions,
  { heads: queryHeads, kvHeads, headDim }: TargetConfig,
): Value {
  const [pastKey, pastValue] = at.cache?.past() ?? []
  // Its outputs for a key-value cache are asked for where they go unused, too: only with them does
  // onnxruntime take the path on the CPU that goes without a score matrix.
  const [mixed, key, value] = graph.add(
    name,
    'GroupQueryAttention',
    [
      heads.query,
      heads.key,
      heads.value,
      pastKey,
      pastValue,
      at.lastPosition,
      at.tokens,
      at.cos,
      at.sin,
    ],
    {
      num_heads: queryHeads,
      kv_num_heads: kvHeads,
      do_rotary: 1,
      scale: { float: 1 / Math.sqrt(headDim) },
    },
  )
  at.cache?.keep(key, value)
  return mixed
}
