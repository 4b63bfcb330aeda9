/** What held-out samples ask: the tokens before the first that a model is to answer with. */
import { contentHash } from '../dataset/fingerprint.ts'
import type { Dataset } from '../dataset/rows.ts'
import { type Limits, usable } from '../dataset/usable.ts'
import { isHeldOut, type Split } from './split.ts'

/** What is given to a model to go on from, and whose it is. */
export interface HeldOutPrompt {
  /** Of the whole sample. */
  readonly hash: string
  readonly ids: readonly number[]
}

/**
 * Reads every row once. Samples that are trained on from their first token ask nothing, and are not
 * among these.
 *
 * @returns  in order of their hashes, whatever that of the rows
 */
export function heldOutPrompts(
  dataset: Pick<Dataset, 'read' | 'rows'>,
  split: Split,
  limits: Limits,
): HeldOutPrompt[] {
  const prompts = new Map<string, readonly number[]>()
  for (let row = 0; row < dataset.rows; row++) {
    const sample = usable(dataset.read(row), limits)
    if ('unusable' in sample) continue
    const hash = contentHash(sample.ids).toString('hex')
    if (!isHeldOut(split, hash)) continue
    const end = sample.mask?.indexOf(1) ?? 0
    const known = prompts.get(hash)
    // Of rows that differ in what is trained on, the one that asks the least.
    if (!known || end < known.length) prompts.set(hash, [...sample.ids.subarray(0, end)])
  }
  return [...prompts]
    .filter(([, ids]) => ids.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([hash, ids]) => ({ hash, ids }))
}
