/** Prompts of a dataset: what stands before the first token that is trained on. */
import { contentHash } from '../dataset/fingerprint.ts'
import type { RowHashes } from '../dataset/row-hashes.ts'
import type { Dataset } from '../dataset/rows.ts'
import { type Limits, usable } from '../dataset/usable.ts'

export interface RowPromptsWanted {
  readonly dataset: Pick<Dataset, 'read' | 'rows'>
  /** What is known of the rows' hashes: such a row is read only where it is chosen. */
  readonly hashes: Pick<RowHashes, 'get'>
  readonly limits: Limits
  /** Whether a sample is one to ask. @param hash  32 hexadecimal digits */
  readonly isWanted: (hash: string) => boolean
  /** At most so many prompts, of at most so many tokens each: longer ones are passed over. */
  readonly limit: number
  readonly promptMax: number
}

/**
 * Samples come in the order of their hashes: which are chosen hangs on the samples alone, not on
 * where they stand, and a few are a fair draw of all. A sample that is trained on from its first
 * token has no prompt.
 *
 * @throws  Failure `corrupt`: a shard is damaged
 */
export function promptsOfRows(wanted: RowPromptsWanted): number[][] {
  const samples = new Map<string, number[]>()
  for (let row = 0; row < wanted.dataset.rows; row++) {
    const hash = hashOf(row, wanted)
    if (hash === undefined || !wanted.isWanted(hash)) continue
    const rows = samples.get(hash)
    if (rows) rows.push(row)
    else samples.set(hash, [row])
  }
  const prompts: number[][] = []
  for (const [, rows] of [...samples].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const prompt = promptOf(rows, wanted)
    if (prompt.length > 0 && prompt.length <= wanted.promptMax) prompts.push(prompt)
    if (prompts.length === wanted.limit) break
  }
  return prompts
}

function hashOf(row: number, { dataset, hashes, limits }: RowPromptsWanted): string | undefined {
  const known = hashes.get(row)
  if (known) return Buffer.from(known).toString('hex')
  const sample = usable(dataset.read(row), limits)
  return 'unusable' in sample ? undefined : contentHash(sample.ids).toString('hex')
}

/** Of rows with the same token ids a token is trained on where one of them says so. */
function promptOf(rows: readonly number[], { dataset, limits }: RowPromptsWanted): number[] {
  const prompts = rows.flatMap((row) => {
    const sample = usable(dataset.read(row), limits)
    if ('unusable' in sample) return []
    return [Array.from(sample.ids.subarray(0, sample.mask?.indexOf(1) ?? 0))]
  })
  return prompts.reduce((least, one) => (one.length < least.length ? one : least), prompts[0] ?? [])
}
