/** `eval.json` beside a checkpoint's files: what decoding with its drafter brought. */
import { z } from 'zod'
import { Failure } from '../failure.ts'
import { putBytes } from '../store/put-confirmed.ts'
import type { ObjectStore } from '../store/store.ts'
import { evaluationKey, fileKey } from './names.ts'

const count = z.int().nonnegative()

const schema = z.object({
  format: z.literal(1),
  evaluatedAt: z.iso.datetime(),
  /** τ: tokens that a forward pass of the target brought; 1 without a drafter. */
  tau: z.number().min(1),
  /** Of 95 %, over prompts; null of fewer than two. */
  interval: z.tuple([z.number(), z.number()]).nullable(),
  /** Every prompt counts alike, however many steps it took. */
  meanOfPrompts: z.number().min(1),
  /** Those that took a step, and how many steps all of them took. */
  prompts: count,
  steps: count,
  promptsFrom: z.enum(['held-out samples', 'a file']),
  maxNewTokens: count,
  /** 0: the best token always; above, tokens were drawn, by `seed`. */
  temperature: z.number().nonnegative(),
  seed: count,
  /** Texts that were not the target's own, ties apart. */
  changed: count,
})

/** What `eval` keeps of an evaluation: of float32 weights, against the run's own target. */
export type KeptEvaluation = Omit<z.output<typeof schema>, 'format'>

/**
 * Takes the place of one that was kept before.
 *
 * @param name  the checkpoint
 * @returns     false: the checkpoint was removed meanwhile, and nothing is put
 */
export async function keepEvaluation(
  store: ObjectStore,
  name: string,
  evaluation: KeptEvaluation,
): Promise<boolean> {
  if (!(await store.head(fileKey(name, 'state')))) return false
  const json = JSON.stringify(schema.parse({ format: 1, ...evaluation }), null, 1)
  await putBytes(store, evaluationKey(name), Buffer.from(`${json}\n`))
  return true
}

/**
 * Undefined where the checkpoint was not evaluated.
 *
 * @throws  Failure `corrupt`: what is kept cannot be read
 */
export async function keptEvaluation(
  store: ObjectStore,
  name: string,
): Promise<KeptEvaluation | undefined> {
  const key = evaluationKey(name)
  const bytes = await store.get(key)
  if (!bytes) return undefined
  try {
    const { format: _, ...kept } = schema.parse(JSON.parse(bytes.toString('utf8')))
    return kept
  } catch (cause) {
    throw new Failure('corrupt', `an evaluation cannot be read. key=${key}`, {
      cause,
      remedy: 'Evaluate the checkpoint again with `draftsmith eval`.',
    })
  }
}
