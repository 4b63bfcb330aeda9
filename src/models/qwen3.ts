import { decoderLayer } from './decoder.ts'

/**
 * Qwen3: query and key heads are normalised before they are turned, and `head_dim` need not be
 * `hidden_size / heads`.
 *
 * @source  transformers `modeling_qwen3.py`, `Qwen3DecoderLayer`
 */
export const qwen3Layer = decoderLayer({ qkvBias: false, qkNorm: true })
