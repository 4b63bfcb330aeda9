/** Whether counts go with a distribution. */

/**
 * @param shares  what is expected of each bin, of a sum that is theirs
 * @returns       Σ (found − want)² / want
 */
export function chiSquareOf(counts: readonly number[], shares: readonly number[]): number {
  const sum = (list: readonly number[]) => list.reduce((total, one) => total + one, 0)
  const scale = sum(counts) / sum(shares)
  return sum(counts.map((count, i) => (count - shares[i] * scale) ** 2 / (shares[i] * scale)))
}

/**
 * What it does not pass but once in a thousand where the distribution is right.
 *
 * @param freedom  bins less one
 * @source         Wilson and Hilferty's approximation
 */
export function chiSquareMax(freedom: number): number {
  const part = 2 / (9 * freedom)
  const normal = 3.09
  return freedom * (1 - part + normal * Math.sqrt(part)) ** 3
}
