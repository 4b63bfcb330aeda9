/** How much of a held-out text stands in what was trained on: what a good figure owes to memory. */
import type { Tokens } from './tokens.ts'

/**
 * @returns  of all n-grams of the held-out rows' supervised tokens, the share that occurs anywhere
 *           in the training rows; 0 where there is none
 */
export function overlap(
  training: readonly Tokens[],
  heldOut: readonly Tokens[],
  n: number,
): number {
  const known = new Set(training.flatMap(({ ids }) => grams(ids, n)))
  const wanted = heldOut.flatMap((row) => supervisedRuns(row).flatMap((run) => grams(run, n)))
  const found = wanted.filter((gram) => known.has(gram))
  return wanted.length === 0 ? 0 : found.length / wanted.length
}

const grams = (ids: readonly number[], n: number): string[] =>
  Array.from({ length: Math.max(0, ids.length - n + 1) }, (_, i) => ids.slice(i, i + n).join())

/** Stretches of supervised tokens: an n-gram never spans two answers. */
function supervisedRuns({ ids, mask }: Tokens): number[][] {
  const runs: number[][] = []
  ids.forEach((id, i) => {
    if (mask[i] !== 1) return
    if (mask[i - 1] !== 1) runs.push([])
    runs.at(-1)?.push(id)
  })
  return runs
}
