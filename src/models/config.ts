/**
 * A target's config.json, as transformers 4 and 5 write it, checked and made plain. A setting that
 * would change the numbers and is not built is refused by name; it is never ignored.
 */
import { z } from 'zod'
import { Failure } from '../failure.ts'
import {
  type DecoderShape,
  settingsText,
  shapeKeys,
  unsupportedIn,
  widthsOf,
} from './decoder-shape.ts'
import { ropeOf } from './rope.ts'

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

/** A target's shape, and whose it is. */
export interface TargetConfig extends DecoderShape {
  readonly architecture: string
  readonly family: Family
  /** Whether the head is the embedding, transposed, and no tensor of its own. */
  readonly tiedEmbeddings: boolean
}

const RESTORE = 'Set target.path to a checkpoint as transformers saves it.'

const configSchema = z.object({
  ...shapeKeys,
  tie_word_embeddings: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  use_sliding_window: z.boolean().nullish(),
  sliding_window: z.int().nullish(),
  max_window_layers: z.int().nullish(),
  layer_types: z.array(z.string()).nullish(),
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
  const widths = widthsOf(raw)
  const { headDim, heads, hiddenSize, kvHeads } = widths
  if (!Number.isInteger(headDim) || headDim % 2 !== 0 || heads % kvHeads !== 0) {
    const counts = `num_attention_heads=${heads}, num_key_value_heads=${kvHeads}`
    const sizes = `hidden_size=${hiddenSize}, head_dim=${headDim}`
    throw new Failure('invalid', `heads do not fit together. file=${path}, ${sizes}, ${counts}`, {
      remedy: RESTORE,
    })
  }
  refuseUnsupported(raw, { architecture, headDim, path })
  return {
    ...widths,
    rope: ropeOf(raw, { path, remedy: RESTORE }),
    architecture,
    family: families[architecture],
    tiedEmbeddings: raw.tie_word_embeddings ?? false,
  }
}

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
  of: { readonly architecture: Architecture; readonly headDim: number; readonly path: string },
): void {
  const { architecture, headDim, path } = of
  const named = settingsText({
    // onnxruntime's attention turns positions in groups of 16 only.
    head_dim: headDim % 16 === 0 ? undefined : `${headDim} (want a multiple of 16)`,
    ...unsupportedIn(raw),
    mlp_bias: raw.mlp_bias ? true : undefined,
    sliding_window: slides(raw, architecture) ? raw.sliding_window : undefined,
    layer_types: raw.layer_types?.find((type) => !/^(full|sliding)_attention$/.test(type)),
  })
  if (named === '') return
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
