import type { Dataset } from './rows.ts'

/** Between two moments in which others may run. */
const rowsAtOnce = 500

/**
 * How often each token is trained on, over all usable rows; of a dataset without a loss mask, every
 * token counts.
 *
 * @param vocab  ids from 0; higher ones are not counted
 * @returns      float64 [vocab]
 */
export async function supervisedCounts(dataset: Dataset, vocab: number): Promise<Float64Array> {
  const counts = new Float64Array(vocab)
  for (let row = 0; row < dataset.rows; row++) {
    if (row % rowsAtOnce === 0) await new Promise((resolve) => setImmediate(resolve))
    const found = dataset.read(row)
    if ('unusable' in found) continue
    const { ids, mask } = found
    for (let i = 0; i < ids.length; i++) {
      if (mask?.[i] !== 0 && ids[i] < vocab) counts[ids[i]]++
    }
  }
  return counts
}
