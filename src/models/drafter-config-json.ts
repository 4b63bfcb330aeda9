/** A DFlash drafter's config.json, written as z-lab publishes it. */
import type { DrafterConfig } from './drafter-config.ts'
import type { Rope } from './rope.ts'

/**
 * The content of config.json, keys sorted as transformers sorts them.
 *
 * @param dtype  of the weights beside it
 * @source       z-lab/dflash, published checkpoints
 */
export function drafterConfigJson(config: DrafterConfig, dtype: 'float32' | 'bfloat16') {
  const { rope, draftVocabSize } = config
  return {
    architectures: ['DFlashDraftModel'],
    attention_bias: false,
    attention_dropout: 0,
    auto_map: { AutoModel: 'dflash.DFlashDraftModel' },
    block_size: config.blockSize,
    dflash_config: {
      mask_token_id: config.maskTokenId,
      target_layer_ids: [...config.targetLayerIds],
    },
    ...(draftVocabSize === null ? {} : { draft_vocab_size: draftVocabSize }),
    dtype,
    head_dim: config.headDim,
    hidden_act: 'silu',
    hidden_size: config.hiddenSize,
    initializer_range: 0.02,
    intermediate_size: config.intermediateSize,
    layer_types: [...config.layerTypes],
    max_position_embeddings: config.maxPositions,
    max_window_layers: config.layers,
    model_type: 'qwen3',
    num_attention_heads: config.heads,
    num_hidden_layers: config.layers,
    num_key_value_heads: config.kvHeads,
    num_target_layers: config.targetLayers,
    rms_norm_eps: config.rmsNormEps,
    rope_scaling: rope.scaling ? ropeScalingJson(rope.scaling) : null,
    rope_theta: rope.theta,
    sliding_window: config.slidingWindow,
    tie_word_embeddings: false,
    use_cache: true,
    use_sliding_window: config.slidingWindow !== null,
    vocab_size: config.vocabSize,
  }
}

const ropeScalingJson = (scaling: NonNullable<Rope['scaling']>) => ({
  factor: scaling.factor,
  high_freq_factor: scaling.highFreqFactor,
  low_freq_factor: scaling.lowFreqFactor,
  original_max_position_embeddings: scaling.originalMaxPositions,
  rope_type: 'llama3',
})
