import { z } from 'zod'
import { Failure } from '../failure.ts'

/**
 * `run.json`: what a run is. Its identity may not change; its plan may, at the price of other bits.
 */

const identitySchema = z.object({
  /** SHA-256 over config.json, the safetensors headers, the sizes and sampled bytes. */
  target: z.string(),
  architecture: z.string(),
  layers: z.array(z.number()),
  hiddenSize: z.number(),
  dtype: z.enum(['bf16', 'f16', 'f32']),
  captureFinal: z.boolean(),
  quantization: z.string(),
  /** `none`: rows that are too long are skipped, never cut. */
  truncation: z.string(),
})

const planSchema = z.object({
  tokenBudget: z.number(),
  maxTokens: z.number(),
  outputBytesMax: z.number(),
  limit: z.number().nullable(),
  seed: z.number(),
})

const runSchema = z.object({
  format: z.literal(1),
  id: z.string(),
  createdAt: z.string(),
  identity: identitySchema,
  plan: planSchema,
  /** Where the target lay on the machine that began the run. */
  targetPath: z.string(),
})

export type RunIdentity = z.output<typeof identitySchema>
export type RunPlan = z.output<typeof planSchema>
export type Run = z.output<typeof runSchema>

/** @throws Failure `corrupt`: it is no run.json; `invalid`: it is of another version */
export function parseRun(bytes: Uint8Array, where: string): Run {
  let json: unknown
  try {
    json = JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch (cause) {
    throw notARun(where, cause)
  }
  const format = formatOf(json)
  if (format !== undefined && format !== 1) throw ofAnotherVersion(where, format)
  const parsed = runSchema.safeParse(json)
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    throw notARun(where, new Error(faults.join('; ')))
  }
  return parsed.data
}

const anyFormat = z.object({ format: z.number() })

/** Undefined where it is no number. */
function formatOf(json: unknown): number | undefined {
  const found = anyFormat.safeParse(json)
  return found.success ? found.data.format : undefined
}

const ofAnotherVersion = (where: string, format: number): Failure =>
  new Failure(
    'invalid',
    `run.json is of another version. want=1, found=${format}, store=${where}`,
    {
      remedy:
        'Use the version of Draftsmith that wrote it, or another prefix; nothing was changed.',
    },
  )

function notARun(where: string, cause: unknown): Failure {
  return new Failure('corrupt', `run.json cannot be read. store=${where}`, {
    cause,
    remedy: 'Use another prefix, or restore run.json from a copy; nothing was changed.',
  })
}

/** @throws Failure `invalid`: the store belongs to another run; names both values that differ */
export function requireSameIdentity(stored: Run, wanted: RunIdentity, where: string): void {
  const differences = differ(stored.identity, wanted)
  if (differences.length === 0) return
  throw new Failure(
    'invalid',
    [`the store belongs to another run. store=${where}`, ...differences].join('\n  '),
    {
      remedy:
        'Use another prefix for this run, or the target and layers that the store was begun with.',
    },
  )
}

/** What one padded token becomes: captures × hidden size × bytes a value. */
export function outputBytesPerToken(
  of: Pick<RunIdentity, 'captureFinal' | 'dtype' | 'hiddenSize' | 'layers'>,
): number {
  const captures = of.layers.length + (of.captureFinal ? 1 : 0)
  return captures * of.hiddenSize * (of.dtype === 'f32' ? 4 : 2)
}

/** A line for each part of the plan that changed: bits may then differ from an undisturbed run. */
export const planChanges = (stored: RunPlan, wanted: RunPlan): string[] => differ(stored, wanted)

function differ(stored: object, wanted: object): string[] {
  const now = new Map(Object.entries(wanted))
  return Object.entries(stored)
    .filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(now.get(key)))
    .map(
      ([key, value]) =>
        `${key}: store=${JSON.stringify(value)}, now=${JSON.stringify(now.get(key))}`,
    )
}
