/** Rotary positions as a config.json sets them: base, stretching, and the speeds that follow. */
import { z } from 'zod'
import { Failure } from '../failure.ts'

/** Llama 3's stretching of slow rotations. */
export interface Llama3Scaling {
  readonly factor: number
  readonly lowFreqFactor: number
  readonly highFreqFactor: number
  /** In tokens. */
  readonly originalMaxPositions: number
}

/** `theta` is the base. */
export interface Rope {
  readonly theta: number
  readonly scaling?: Llama3Scaling
}

const size = z.int().positive()

/** One object of a config.json, whichever of its two names it goes by. */
const ropeSchema = z.object({
  rope_type: z.string().optional(),
  /** transformers before 4.43. */
  type: z.string().optional(),
  rope_theta: z.number().positive().optional(),
  partial_rotary_factor: z.number().optional(),
  factor: z.number().positive().optional(),
  low_freq_factor: z.number().positive().optional(),
  high_freq_factor: z.number().positive().optional(),
  original_max_position_embeddings: size.optional(),
})

/** The keys of a config.json that set rotary positions, as transformers 4 and 5 write them. */
export const ropeKeys = {
  rope_theta: z.number().positive().nullish(),
  rope_scaling: ropeSchema.nullish(),
  rope_parameters: ropeSchema.nullish(),
  partial_rotary_factor: z.number().nullish(),
}

type RawRope = z.infer<z.ZodObject<typeof ropeKeys>>

const partOf = (raw: RawRope) => raw.rope_parameters ?? raw.rope_scaling ?? undefined
const typeOf = (raw: RawRope): string => partOf(raw)?.rope_type ?? partOf(raw)?.type ?? 'default'

/** What is set and not built, by key; undefined where it is built. */
export function unsupportedRope(raw: RawRope) {
  const rotaryPart = raw.partial_rotary_factor ?? partOf(raw)?.partial_rotary_factor ?? 1
  return {
    rope_type: ['default', 'llama3'].includes(typeOf(raw)) ? undefined : typeOf(raw),
    partial_rotary_factor: rotaryPart === 1 ? undefined : rotaryPart,
  }
}

/** @throws  Failure `invalid`: a stretching that lacks some of its numbers */
export function ropeOf(
  raw: RawRope,
  { path, remedy }: { readonly path: string; readonly remedy: string },
): Rope {
  const rope = partOf(raw)
  const theta = rope?.rope_theta ?? raw.rope_theta ?? 10_000
  if (!rope || typeOf(raw) === 'default') return { theta }
  const { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } = rope
  if (!factor || !low_freq_factor || !high_freq_factor || !original_max_position_embeddings) {
    const want = 'factor, low_freq_factor, high_freq_factor, original_max_position_embeddings'
    const found = Object.keys(rope).join(', ')
    throw new Failure(
      'invalid',
      `llama3 rope scaling is incomplete. file=${path}, want=${want}, found=${found}`,
      { remedy },
    )
  }
  const scaling: Llama3Scaling = {
    factor,
    lowFreqFactor: low_freq_factor,
    highFreqFactor: high_freq_factor,
    originalMaxPositions: original_max_position_embeddings,
  }
  return { theta, scaling }
}

/**
 * Radians a token for each pair of a head's entries: θ^(−2j / headDim), some slowed by Llama 3's
 * rule.
 *
 * @returns  float32 [headDim / 2]
 * @source   transformers `modeling_rope_utils.py`, `_compute_llama3_parameters`
 */
export function rotarySpeeds({ headDim, rope }: { headDim: number; rope: Rope }): Float32Array {
  return Float32Array.from({ length: headDim / 2 }, (_, j) => {
    const speed = rope.theta ** ((-2 * j) / headDim)
    return rope.scaling ? slowed(speed, rope.scaling) : speed
  })
}

function slowed(speed: number, scaling: Llama3Scaling): number {
  const { factor, lowFreqFactor, highFreqFactor, originalMaxPositions } = scaling
  const wavelength = (2 * Math.PI) / speed
  if (wavelength < originalMaxPositions / highFreqFactor) return speed
  if (wavelength > originalMaxPositions / lowFreqFactor) return speed / factor
  const blend =
    (originalMaxPositions / wavelength - lowFreqFactor) / (highFreqFactor - lowFreqFactor)
  return ((1 - blend) * speed) / factor + blend * speed
}
