/**
 * A DFlash drafter's config.json, as z-lab publishes it: read, checked whole, written. A setting
 * that would change the numbers and is not built is refused by name; it is never ignored.
 */
import { z } from 'zod'
import { Failure } from '../failure.ts'
import {
  type DecoderShape,
  settingsText,
  shapeKeys,
  size,
  unsupportedIn,
  widthsOf,
} from './decoder-shape.ts'
import { ropeOf } from './rope.ts'

export type LayerType = 'full_attention' | 'sliding_attention'

/** A drafter's shape, and what it takes from its target. */
export interface DrafterConfig extends DecoderShape {
  /** Tokens of a block: the one that is known, and those that are drafted. */
  readonly blockSize: number
  readonly maskTokenId: number
  /** Which of the target's layers the context feature is made of, in this order; from 0. */
  readonly targetLayerIds: readonly number[]
  /** Decoder layers of the target. */
  readonly targetLayers: number
  /** One for each layer. */
  readonly layerTypes: readonly LayerType[]
  /** How many positions a sliding layer sees, its own among them; null where none slides. */
  readonly slidingWindow: number | null
  /** How many tokens the drafter can draft where that is not the whole vocabulary. */
  readonly draftVocabSize: number | null
}

const remedy = "Use a drafter's directory as it was published, or as `draftsmith export` wrote it."

const id = z.int().nonnegative()

const dflashKeys = {
  block_size: z.int().nullish(),
  mask_token_id: id.nullish(),
  target_layer_ids: z.array(id).min(1).nullish(),
}

const configSchema = z.object({
  ...shapeKeys,
  model_type: z.string().default('qwen3'),
  layer_types: z.array(z.enum(['full_attention', 'sliding_attention'])).nullish(),
  sliding_window: size.nullish(),
  use_sliding_window: z.boolean().nullish(),
  max_window_layers: z.int().nullish(),
  num_target_layers: size,
  draft_vocab_size: size.nullish(),
  ...dflashKeys,
  dflash_config: z.object(dflashKeys).nullish(),
})

type Raw = z.infer<typeof configSchema>

/**
 * @param json  the parsed file
 * @param path  for messages
 * @throws      Failure `invalid`: a field that is missing or of the wrong kind, a setting that is
 *              not supported, or values that cannot go together; all of them at once
 */
export function parseDrafterConfig(json: unknown, path: string): DrafterConfig {
  const parsed = configSchema.safeParse(json)
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw malformed(path, faults)
  }
  const raw = parsed.data
  refuseUnsupported(raw, path)
  const layerTypes = layerTypesOf(raw)
  const slides = layerTypes.includes('sliding_attention')
  const config: DrafterConfig = {
    ...widthsOf(raw),
    rope: ropeOf(raw, { path, remedy }),
    ...dflashPart(raw, path),
    targetLayers: raw.num_target_layers,
    layerTypes,
    slidingWindow: slides ? (raw.sliding_window ?? null) : null,
    draftVocabSize: raw.draft_vocab_size ?? null,
  }
  const faults = [...contradictions(raw), ...faultsOf(config)]
  if (faults.length > 0) throw malformed(path, faults)
  return config
}

/** Of two values for one thing some readers take the one, some the other: none is right. */
function contradictions(raw: Raw): string[] {
  const keys = ['block_size', 'mask_token_id', 'target_layer_ids'] as const
  return keys.flatMap((key) => {
    const [top, inner] = [raw[key], raw.dflash_config?.[key]]
    if (top == null || inner == null || String(top) === String(inner)) return []
    return [`${key}: ${String(top)} at the top, ${String(inner)} in dflash_config`]
  })
}

/** z-lab's older files keep the block size at the top, newer ones beside the mask token. */
function dflashPart(raw: Raw, path: string) {
  const inner = raw.dflash_config
  const block_size = inner?.block_size ?? raw.block_size
  const mask_token_id = inner?.mask_token_id ?? raw.mask_token_id
  const target_layer_ids = inner?.target_layer_ids ?? raw.target_layer_ids
  if (block_size == null || mask_token_id == null || target_layer_ids == null) {
    const found = Object.entries({ block_size, mask_token_id, target_layer_ids })
    const missing = found.filter(([, value]) => value == null)
    throw malformed(
      path,
      missing.map(([key]) => `dflash_config.${key}: is missing`),
    )
  }
  return { blockSize: block_size, maskTokenId: mask_token_id, targetLayerIds: target_layer_ids }
}

const targetIdsKey = 'dflash_config.target_layer_ids'

/** Of files without layer_types: the rule of transformers' Qwen3 configuration. */
function layerTypesOf(raw: Raw): LayerType[] {
  if (raw.layer_types) return raw.layer_types
  const slides = raw.use_sliding_window === true && raw.sliding_window != null
  const from = slides ? (raw.max_window_layers ?? 28) : raw.num_hidden_layers
  return Array.from({ length: raw.num_hidden_layers }, (_, i) =>
    i >= from ? 'sliding_attention' : 'full_attention',
  )
}

function refuseUnsupported(raw: Raw, path: string): void {
  const named = settingsText({
    model_type: raw.model_type === 'qwen3' ? undefined : raw.model_type,
    ...unsupportedIn(raw),
  })
  if (named === '') return
  throw new Failure('invalid', `drafter uses what is not supported. file=${path}, ${named}`, {
    remedy: 'Use a DFlash drafter of the Qwen3 shape, with unquantized weights.',
  })
}

/** What is wrong with values that are each of the right kind. */
export function faultsOf(config: DrafterConfig): string[] {
  const { heads, kvHeads, headDim, targetLayerIds, layerTypes, draftVocabSize } = config
  const faults: string[] = []
  const want = (holds: boolean, key: string, problem: string): void => {
    if (!holds) faults.push(`${key}: ${problem}`)
  }
  want(config.blockSize >= 2, 'block_size', `want=2 or more, found=${config.blockSize}`)
  const mask = `want=an id below vocab_size ${config.vocabSize}, found=${config.maskTokenId}`
  want(config.maskTokenId < config.vocabSize, 'dflash_config.mask_token_id', mask)
  const lacking = targetLayerIds.filter((layer) => layer >= config.targetLayers)
  const depth = `the target has ${config.targetLayers} layers, found=[${targetLayerIds.join(', ')}]`
  want(lacking.length === 0, targetIdsKey, depth)
  const different = new Set(targetLayerIds).size === targetLayerIds.length
  want(different, targetIdsKey, `want=different ids, found=[${targetLayerIds.join(', ')}]`)
  const even = Number.isInteger(headDim) && headDim % 2 === 0
  want(even, 'head_dim', `want=an even number, found=${headDim}`)
  const shared = `${heads} heads do not share ${kvHeads} evenly`
  want(heads % kvHeads === 0, 'num_key_value_heads', shared)
  const types = `want=one for each of ${config.layers} layers, found=${layerTypes.length}`
  want(layerTypes.length === config.layers, 'layer_types', types)
  const slides = layerTypes.includes('sliding_attention')
  want(!slides || config.slidingWindow !== null, 'sliding_window', 'layers slide, and it is none')
  const draft = `want=at most vocab_size ${config.vocabSize}, found=${draftVocabSize}`
  want((draftVocabSize ?? 0) <= config.vocabSize, 'draft_vocab_size', draft)
  return faults
}

const malformed = (path: string, faults: readonly string[]): Failure =>
  new Failure('invalid', `drafter config is malformed. file=${path}, ${faults.join('; ')}`, {
    remedy,
  })
