import { count } from '../../actors/console/numbers.ts'

/** More are for `--json`. */
const shown = 100

/** What people read of a list that may be long. */
export function firstLines(lines: readonly string[]): string[] {
  if (lines.length <= shown) return [...lines]
  const more = `… and ${count(lines.length - shown)} more; --json names them all`
  return [...lines.slice(0, shown), more]
}
