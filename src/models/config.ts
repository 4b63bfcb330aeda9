/**
 * A target's config.json, as transformers 4 and 5 write it, checked and made plain. A setting that
 * would change the numbers and is not built is refused by name; it is never ignored.
 */
import { z } from 'zod'
import { Failure } from '../failure.ts'
import { type Rope, ropeKeys, ropeOf, unsupportedRope } from './rope.ts'

/** The classes that can be built, and what each is at heart. */
const families = {
  LlamaForCausalLM: 'llama',
  Qwen2ForCausalLM: 'qwen2',
  Qwen3ForCausalLM: 'qwen3',
} as const

/** What a target is at heart; each has a decoder layer of its own. */
export type Family = (typeof families)[keyof typeof families]
type Architecture = keyof typeof families

const isSupported = (name: string | undefined): name is Architecture =>
  name !== undefined && Object.hasOwn(families, name)

/** A target's shape, in one spelling whatever transformers wrote it. */
export interface TargetConfig {
  readonly architecture: string
  readonly family: Family
  readonly layers: number
  readonly hiddenSize: number
  readonly intermediateSize: number
  readonly vocabSize: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly rmsNormEps: number
  readonly rope: Rope
  /** The longest sample that the model was made for, in tokens. */
  readonly maxPositions: number
  /** Whether the head is the embedding, transposed, and no tensor of its own. */
  readonly tiedEmbeddings: boolean
}

const RESTORE = 'Set target.path to a checkpoint as transformers saves it.'

const size = z.int().positive()
/** Defaults are those of the configuration classes in transformers, for keys it leaves out. */
const configSchema = z.object({
  num_hidden_layers: size,
  hidden_size: size,
  intermediate_size: size,
  vocab_size: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  rms_norm_eps: z.number().positive().default(1e-6),
  tie_word_embeddings: z.boolean().nullish(),
  hidden_act: z.string().default('silu'),
  ...ropeKeys,
  max_position_embeddings: size.default(32_768),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  use_sliding_window: z.boolean().nullish(),
  sliding_window: z.int().nullish(),
  max_window_layers: z.int().nullish(),
  layer_types: z.array(z.string()).nullish(),
  quantization_config: z.unknown().optional(),
})

type Raw = z.infer<typeof configSchema>

/**
 * @param json  the parsed file
 * @param path  for messages
 * @throws      Failure `invalid`: an architecture or a setting that is not supported, a field that
 *              is missing or of the wrong kind
 */
export function parseTargetConfig(json: unknown, path: string): TargetConfig {
  const architecture = architectureOf(json, path)
  const parsed = configSchema.safeParse(json)
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw new Failure('invalid', `target config is malformed. file=${path}, ${faults.join('; ')}`, {
      remedy: RESTORE,
    })
  }
  const raw = parsed.data
  const heads = raw.num_attention_heads
  const headDim = headDimOf(raw)
  const kvHeads = raw.num_key_value_heads ?? heads
  if (!Number.isInteger(headDim) || headDim % 2 !== 0 || heads % kvHeads !== 0) {
    const counts = `num_attention_heads=${heads}, num_key_value_heads=${kvHeads}`
    const widths = `hidden_size=${raw.hidden_size}, head_dim=${headDim}`
    throw new Failure('invalid', `heads do not fit together. file=${path}, ${widths}, ${counts}`, {
      remedy: RESTORE,
    })
  }
  refuseUnsupported(raw, { architecture, path })
  return {
    architecture,
    family: families[architecture],
    layers: raw.num_hidden_layers,
    hiddenSize: raw.hidden_size,
    intermediateSize: raw.intermediate_size,
    vocabSize: raw.vocab_size,
    heads,
    kvHeads,
    headDim,
    rmsNormEps: raw.rms_norm_eps,
    rope: ropeOf(raw, { path, remedy: RESTORE }),
    maxPositions: raw.max_position_embeddings,
    tiedEmbeddings: raw.tie_word_embeddings ?? false,
  }
}

const headDimOf = (raw: Raw): number => raw.head_dim ?? raw.hidden_size / raw.num_attention_heads

function architectureOf(json: unknown, path: string): Architecture {
  const named = z
    .object({ architectures: z.array(z.string()).nullish(), model_type: z.string().nullish() })
    .safeParse(json)
  const name = named.data?.architectures?.[0]
  if (isSupported(name)) return name
  const found = name ?? named.data?.model_type ?? 'none named'
  const want = Object.keys(families).join(', ')
  throw new Failure(
    'invalid',
    `architecture is not supported. file=${path}, want=one of ${want}, found=${found}`,
    { remedy: 'Set target.path to a checkpoint of a supported architecture.' },
  )
}

/** Every setting that asks for something not built, each with the value found. */
function refuseUnsupported(
  raw: Raw,
  { architecture, path }: { readonly architecture: Architecture; readonly path: string },
): void {
  const headDim = headDimOf(raw)
  const other = raw.layer_types?.find((type) => !/^(full|sliding)_attention$/.test(type))
  const unsupported = {
    // onnxruntime's attention turns positions in groups of 16 only.
    head_dim: headDim % 16 === 0 ? undefined : `${headDim} (want a multiple of 16)`,
    hidden_act: raw.hidden_act === 'silu' ? undefined : raw.hidden_act,
    ...unsupportedRope(raw),
    // Qwen2's biases are its own and always there; these are options of the others, held against
    // nothing.
    attention_bias: raw.attention_bias ? true : undefined,
    mlp_bias: raw.mlp_bias ? true : undefined,
    sliding_window: slides(raw, architecture) ? raw.sliding_window : undefined,
    layer_types: other,
    quantization_config: raw.quantization_config == null ? undefined : 'present',
  }
  const found = Object.entries(unsupported).filter(([, value]) => value !== undefined)
  if (found.length === 0) return
  const named = found.map(([key, value]) => `${key}=${value}`).join(', ')
  throw new Failure(
    'invalid',
    `target uses what is not supported. file=${path}, architecture=${architecture}, ${named}`,
    { remedy: 'Use a checkpoint without it: quantized weights, for one, as they were before.' },
  )
}

/** Whether any layer looks back through a window: the key is there in models that never use it. */
function slides(raw: Raw, architecture: Architecture): boolean {
  if (raw.layer_types) return raw.layer_types.includes('sliding_attention')
  if (architecture === 'LlamaForCausalLM' || raw.sliding_window == null) return false
  // Which layers slide in files without layer_types: the Qwen classes' rule, with their default of
  // 28.
  return raw.use_sliding_window === true && raw.num_hidden_layers > (raw.max_window_layers ?? 28)
}
