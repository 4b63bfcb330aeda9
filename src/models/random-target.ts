/**
 * A target with random weights, for benchmarks and the demo: the cost of a real one, no download.
 */
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { seededRandom } from '../clock.ts'
import { makeFolder } from '../new-folder.ts'
import { encodeSafetensors, type TensorToWrite } from '../safetensors/write.ts'
import { float32ToBfloat16 } from '../tensor/bfloat16.ts'
import type { TargetConfig } from './config.ts'
import { spread } from './spread.ts'

/** The shape of a target to make up. What is left out of the config is the same for all of them. */
export interface RandomTarget
  extends Omit<
    TargetConfig,
    'architecture' | 'family' | 'rmsNormEps' | 'rope' | 'maxPositions' | 'tiedEmbeddings'
  > {
  readonly dtype: 'BF16' | 'F32'
  readonly seed: number
}

/**
 * Writes config.json and model.safetensors of a Qwen3 checkpoint into `dir`. The same input gives
 * the same bytes everywhere: weights are made by arithmetic alone.
 *
 * @returns  the bytes of model.safetensors
 */
export async function writeRandomTarget(dir: string, target: RandomTarget): Promise<number> {
  await makeFolder(dir)
  const parts = encodeSafetensors([...randomWeights(target)], { format: 'pt' })
  await using file = await open(join(dir, 'model.safetensors'), 'w')
  for (const part of parts) await file.writeFile(part)
  // Last: without it the directory is no checkpoint yet.
  await writeFile(join(dir, 'config.json'), `${JSON.stringify(configOf(target), null, 2)}\n`)
  return parts.reduce((bytes, part) => bytes + part.length, 0)
}

const configOf = (target: RandomTarget) => ({
  architectures: ['Qwen3ForCausalLM'],
  attention_bias: false,
  dtype: target.dtype === 'BF16' ? 'bfloat16' : 'float32',
  head_dim: target.headDim,
  hidden_act: 'silu',
  hidden_size: target.hiddenSize,
  intermediate_size: target.intermediateSize,
  max_position_embeddings: 32_768,
  model_type: 'qwen3',
  num_attention_heads: target.heads,
  num_hidden_layers: target.layers,
  num_key_value_heads: target.kvHeads,
  rms_norm_eps: 1e-6,
  rope_parameters: { rope_theta: 1_000_000, rope_type: 'default' },
  tie_word_embeddings: true,
  vocab_size: target.vocabSize,
})

function* randomWeights(target: RandomTarget): Generator<TensorToWrite> {
  const { hiddenSize: hidden, intermediateSize: inner, headDim } = target
  const random = seededRandom(target.seed)
  const make = (name: string, shape: readonly number[], values: Float32Array): TensorToWrite => {
    const stored = target.dtype === 'BF16' ? float32ToBfloat16(values) : values
    const data = new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength)
    return { name: `model.${name}`, dtype: target.dtype, shape, data }
  }
  // A product with such weights is about as large as what goes in, so that no layer drowns another.
  const linear = (name: string, out: number, into: number) =>
    make(`${name}.weight`, [out, into], spread(random, out * into, 1 / Math.sqrt(into)))
  const norm = (name: string, width: number) =>
    make(
      `${name}.weight`,
      [width],
      spread(random, width, 0.1).map((value) => 1 + value),
    )

  const size = target.vocabSize * hidden
  yield make('embed_tokens.weight', [target.vocabSize, hidden], spread(random, size, 1))
  for (let i = 0; i < target.layers; i++) {
    const at = `layers.${i}`
    yield norm(`${at}.input_layernorm`, hidden)
    yield linear(`${at}.self_attn.q_proj`, target.heads * headDim, hidden)
    yield linear(`${at}.self_attn.k_proj`, target.kvHeads * headDim, hidden)
    yield linear(`${at}.self_attn.v_proj`, target.kvHeads * headDim, hidden)
    yield norm(`${at}.self_attn.q_norm`, headDim)
    yield norm(`${at}.self_attn.k_norm`, headDim)
    yield linear(`${at}.self_attn.o_proj`, hidden, target.heads * headDim)
    yield norm(`${at}.post_attention_layernorm`, hidden)
    yield linear(`${at}.mlp.gate_proj`, inner, hidden)
    yield linear(`${at}.mlp.up_proj`, inner, hidden)
    yield linear(`${at}.mlp.down_proj`, hidden, inner)
  }
  yield norm('norm', hidden)
}
