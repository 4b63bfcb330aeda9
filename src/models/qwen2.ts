import { decoderLayer } from './decoder.ts'

/**
 * Qwen2 and Qwen2.5: biases on query, key and value.
 *
 * @source  transformers `modeling_qwen2.py`, `Qwen2DecoderLayer`
 */
export const qwen2Layer = decoderLayer({ qkvBias: true, qkNorm: false })
