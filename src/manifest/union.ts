/**
 * Which of two entries for one sample holds. A total order, so that the union of any segments, read
 * in any order and any number of times, is the same.
 */
import { roundOf } from './attempt.ts'
import { entryKey, type ManifestEntry, statusCode } from './entry.ts'

const ascending = (a: number | string, b: number | string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Negative where `a` holds, positive where `b` does, 0 where they are the same entry. */
export function compareEntries(a: ManifestEntry, b: ManifestEntry): number {
  // A loss opens a round: it takes back all that was said before, and is answered in its own.
  const rounds = roundOf(b.attempt) - roundOf(a.attempt)
  if (rounds !== 0) return rounds
  // A sample that was stored once is there; that it failed elsewhere takes nothing from it.
  if (a.status !== b.status) return statusCode(a.status) - statusCode(b.status)
  if (a.attempt !== b.attempt) return b.attempt - a.attempt
  // Two machines may have computed other bits. Both objects are whole; all readers must name one.
  return (
    ascending(entryKey(a), entryKey(b)) ||
    a.offset - b.offset ||
    a.length - b.length ||
    a.crc32 - b.crc32 ||
    a.tokens - b.tokens ||
    ascending(a.reason ?? '', b.reason ?? '')
  )
}

export const union = (a: ManifestEntry, b: ManifestEntry): ManifestEntry =>
  compareEntries(a, b) <= 0 ? a : b
