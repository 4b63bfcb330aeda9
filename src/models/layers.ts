/**
 * What every decoder is made of: embedding, linear, RMS norm, SwiGLU. Row vectors: y = x Wᵀ + b.
 */
import type { Value } from '../graph/ops.ts'
import type { Parameters } from './parameters.ts'

/**
 * @param ids  int64 [batch, tokens], each below `vocabSize`
 * @returns    float32 [batch, tokens, width]
 */
export function embedding(
  p: Parameters,
  ids: Value,
  size: { readonly vocabSize: number; readonly width: number },
): Value {
  const table = p.stored('weight', [size.vocabSize, size.width])
  // Rows first, then wider: the table itself stays as small as it is stored.
  const rows = p.graph.node(p.name('rows'), 'Gather', [table, ids], { axis: 0 })
  return p.graph.cast(p.name('rows:f32'), rows, 'F32')
}

/**
 * @param x    float32 […, in]
 * @param out  width of the result
 * @returns    float32 […, out]
 */
export function linear(
  p: Parameters,
  x: Value,
  { out, bias = false }: { readonly out: number; readonly bias?: boolean },
): Value {
  const weight = p.get('weight', [out, lastWidth(x)])
  const transposed = p.graph.node(p.name('weight:transposed'), 'Transpose', [weight], {
    perm: [1, 0],
  })
  const y = p.graph.node(p.name('matmul'), 'MatMul', [x, transposed], {})
  return bias ? p.graph.node(p.name('add'), 'Add', [y, p.get('bias', [out])], {}) : y
}

/**
 * x / √(mean(x²) + eps) · w, over the last axis.
 *
 * @source  transformers `modeling_qwen3.py`, `Qwen3RMSNorm`
 */
export function rmsNorm(p: Parameters, x: Value, epsilon: number): Value {
  const scale = p.get('weight', [lastWidth(x)])
  return p.graph.node(p.name('norm'), 'RMSNormalization', [x, scale], {
    epsilon: { float: epsilon },
  })
}

/** down(silu(gate x) ⊙ up x). */
export function swiglu(p: Parameters, x: Value, intermediateSize: number): Value {
  const gate = linear(p.within('gate_proj'), x, { out: intermediateSize })
  const up = linear(p.within('up_proj'), x, { out: intermediateSize })
  const sigmoid = p.graph.node(p.name('sigmoid'), 'Sigmoid', [gate], {})
  const silu = p.graph.node(p.name('silu'), 'Mul', [gate, sigmoid], {})
  const gated = p.graph.node(p.name('gated'), 'Mul', [silu, up], {})
  return linear(p.within('down_proj'), gated, { out: lastWidth(x) })
}

/** Of a dimension that is always fixed: the builder names the node where it is not. */
const lastWidth = (x: Value): number => Number(x.shape.at(-1))
