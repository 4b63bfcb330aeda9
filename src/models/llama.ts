import { decoderLayer } from './decoder.ts'

/**
 * Llama 2 and 3; what Llama 3.1 changed, the speeds of rotation, is the config's.
 *
 * @source  transformers `modeling_llama.py`, `LlamaDecoderLayer`
 */
export const llamaLayer = decoderLayer({ qkvBias: false, qkNorm: false })
