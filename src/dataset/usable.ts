/** Whether a sample is fit for a target model. What is wrong with the row itself comes before. */
import type { Sample, SkipReason, Unusable } from './open-batch.ts'

/** What a target model takes. */
export interface Limits {
  /** Token ids of the target are below it. */
  readonly vocab: number
  readonly maxTokens: number
}

/** The sample as it is, or why it is not used; a row that is unusable already stays so. */
export function usable(row: Sample | Unusable, { vocab, maxTokens }: Limits): Sample | Unusable {
  if ('unusable' in row) return row
  const reason = skipByLength(row.ids.length, maxTokens)
  if (reason) return { unusable: reason }
  for (const id of row.ids) if (id >= vocab) return { unusable: 'token id beyond vocabulary' }
  if (row.mask && !row.mask.includes(1)) return { unusable: 'no supervised token' }
  return row
}

/**
 * Why a row of this length is in no batch, told without reading it.
 *
 * @param length  as `Dataset.lengths` gives it: −1 for a null row
 */
export function skipByLength(length: number, maxTokens: number): SkipReason | undefined {
  if (length < 0) return 'null row'
  if (length === 0) return 'empty'
  return length > maxTokens ? 'too long' : undefined
}
