import { closest, distance } from 'fastest-levenshtein'

/** The one of the names that may be what was meant; undefined where none is near enough. */
export function near(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined
  const guess = closest(name, known)
  return distance(name, guess) <= Math.max(2, name.length / 2) ? guess : undefined
}
