/** What the config.json of a target and of a drafter share: a decoder's shape, read and checked. */
import { z } from 'zod'
import { type Rope, ropeKeys, unsupportedRope } from './rope.ts'

/** A decoder's shape, in one spelling whatever transformers wrote it. */
export interface DecoderShape {
  readonly layers: number
  readonly hiddenSize: number
  readonly intermediateSize: number
  /** Of embedding and head; a drafter borrows those of its target. */
  readonly vocabSize: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly rmsNormEps: number
  readonly rope: Rope
  /** The longest sample that the model was made for, in tokens. */
  readonly maxPositions: number
}

export const size = z.int().positive()

/** Defaults are those of the configuration classes in transformers, for keys it leaves out. */
export const shapeKeys = {
  num_hidden_layers: size,
  hidden_size: size,
  intermediate_size: size,
  vocab_size: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  rms_norm_eps: z.number().positive().default(1e-6),
  hidden_act: z.string().default('silu'),
  ...ropeKeys,
  max_position_embeddings: size.default(32_768),
  attention_bias: z.boolean().nullish(),
  quantization_config: z.unknown().optional(),
}

type RawShape = z.infer<z.ZodObject<typeof shapeKeys>>

/** The shape but for its rope; what transformers derives is derived. Nothing is checked. */
export function widthsOf(raw: RawShape): Omit<DecoderShape, 'rope'> {
  const heads = raw.num_attention_heads
  return {
    layers: raw.num_hidden_layers,
    hiddenSize: raw.hidden_size,
    intermediateSize: raw.intermediate_size,
    vocabSize: raw.vocab_size,
    heads,
    kvHeads: raw.num_key_value_heads ?? heads,
    headDim: raw.head_dim ?? raw.hidden_size / heads,
    rmsNormEps: raw.rms_norm_eps,
    maxPositions: raw.max_position_embeddings,
  }
}

/** What is set and built nowhere, by key; undefined where it is built. */
export const unsupportedIn = (raw: RawShape) => ({
  hidden_act: raw.hidden_act === 'silu' ? undefined : raw.hidden_act,
  ...unsupportedRope(raw),
  // Qwen2's biases are its own and always there; this is an option of the others, held against
  // nothing.
  attention_bias: raw.attention_bias ? true : undefined,
  quantization_config: raw.quantization_config == null ? undefined : 'present',
})

/** `key=value` of each that is not undefined. */
export const settingsText = (settings: Readonly<Record<string, unknown>>): string =>
  Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ')
