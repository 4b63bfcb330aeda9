/** The decoder that Llama, Qwen2 and Qwen3 share; each names what its attention adds. */
import type { Value } from '../graph/ops.ts'
import { attention, type Positions } from './attention.ts'
import type { TargetConfig } from './config.ts'
import { linear, rmsNorm, swiglu } from './layers.ts'
import type { Parameters } from './parameters.ts'

interface Variant {
  /** Biases on q, k and v; there is never one on o. */
  readonly qkvBias: boolean
  /** Whether query and key are normalised, head by head, before they are turned. */
  readonly qkNorm: boolean
}

export type DecoderLayer = (p: Parameters, x: Value, at: Positions, config: TargetConfig) => Value

/**
 * x ← x + attention(norm x); x ← x + mlp(norm x).
 *
 * @param x  float32 [batch, tokens, hidden]
 * @returns  the same shape: the layer's raw output
 */
export const decoderLayer =
  (variant: Variant): DecoderLayer =>
  (p, x, at, config) => {
    const { graph } = p
    const normed = rmsNorm(p.within('input_layernorm'), x, config.rmsNormEps)
    const mixed = selfAttention(p.within('self_attn'), normed, at, { variant, config })
    const middle = graph.node(p.name('after_attention'), 'Add', [x, mixed], {})
    const second = rmsNorm(p.within('post_attention_layernorm'), middle, config.rmsNormEps)
    const mlp = swiglu(p.within('mlp'), second, config.intermediateSize)
    return graph.node(p.name('output'), 'Add', [middle, mlp], {})
  }

function selfAttention(
  p: Parameters,
  x: Value,
  at: Positions,
  { variant, config }: { readonly variant: Variant; readonly config: TargetConfig },
): Value {
  const { heads, kvHeads, headDim, hiddenSize } = config
  const bias = variant.qkvBias
  let query = linear(p.within('q_proj'), x, { out: heads * headDim, bias })
  let key = linear(p.within('k_proj'), x, { out: kvHeads * headDim, bias })
  const value = linear(p.within('v_proj'), x, { out: kvHeads * headDim, bias })
  if (variant.qkNorm) {
    query = headNorm(p.within('q_norm'), query, config)
    key = headNorm(p.within('k_norm'), key, config)
  }
  const mixed = attention(p.graph, p.name('attention'), { query, key, value }, at, config)
  return linear(p.within('o_proj'), mixed, { out: hiddenSize })
}

/** One RMS norm for each head, all with the same weight. */
function headNorm(p: Parameters, x: Value, { headDim, rmsNormEps }: TargetConfig): Value {
  const { graph } = p
  // [batch, tokens, heads · headDim] → [batch, tokens, heads, headDim] and back
  const split = graph.integers([0, 0, -1, headDim])
  const apart = graph.node(p.name('heads'), 'Reshape', [x, split], {})
  const normed = rmsNorm(p, apart, rmsNormEps)
  const joined = graph.integers([0, 0, Number(x.shape[2])])
  return graph.node(p.name('joined'), 'Reshape', [normed, joined], {})
}
