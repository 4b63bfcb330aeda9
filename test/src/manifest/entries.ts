/** Entries to test with: seeded, and valid. */
import type { Random } from '../../../src/clock.ts'
import { type EntryRows, type ManifestEntry, rowEntry } from '../../../src/manifest/entry.ts'
import type { EntryTable } from '../../../src/manifest/table.ts'

const below = (random: Random, end: number): number => Math.floor(random() * end)

export const randomHash = (random: Random): string =>
  Array.from({ length: 4 }, () =>
    below(random, 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('')

export const storedEntry = (random: Random, of: Partial<ManifestEntry> = {}): ManifestEntry => ({
  hash: randomHash(random),
  key: null,
  offset: 0,
  length: 1 + below(random, 2_000_000),
  tokens: 1 + below(random, 2048),
  crc32: below(random, 2 ** 32),
  status: 'stored',
  reason: null,
  attempt: 0,
  ...of,
})

export const quarantinedEntry = (
  random: Random,
  of: Partial<ManifestEntry> = {},
): ManifestEntry => ({
  ...storedEntry(random),
  length: 0,
  crc32: 0,
  status: 'quarantined',
  reason: '3 values are not finite',
  ...of,
})

/** Of the first round after the ones that are told here otherwise. */
export const lostEntry = (random: Random, of: Partial<ManifestEntry> = {}): ManifestEntry => ({
  ...quarantinedEntry(random),
  status: 'lost',
  reason: 'it is not there',
  attempt: 256,
  ...of,
})

/** Entries that contend for a few hashes in every way that the union decides. */
export function contendingEntry(random: Random, hashes: readonly string[]): ManifestEntry {
  const hash = hashes[below(random, hashes.length)] ?? randomHash(random)
  const round = below(random, 3)
  const attempt = round * 256 + below(random, 3)
  const reason = `r${below(random, 3)}`
  if (round > 0 && random() < 0.3) return lostEntry(random, { hash, attempt, tokens: 7, reason })
  if (random() < 0.3) {
    return quarantinedEntry(random, { hash, attempt, tokens: 7, reason })
  }
  const crc32 = below(random, 3)
  const key = random() < 0.3 ? `hidden-states/packs/p${below(random, 3)}` : null
  const offset = key ? below(random, 2) * 2 ** 40 : 0
  return storedEntry(random, { hash, attempt, crc32, key, offset, length: 9, tokens: 7 })
}

/** Many stored entries, as columns: no object each. */
export function manyRows(count: number, random: Random): EntryRows {
  const words = Uint32Array.from({ length: count * 4 }, () => below(random, 2 ** 32))
  return {
    count,
    words,
    lengths: Float64Array.from({ length: count }, () => 1 + below(random, 2_000_000)),
    tokens: Uint32Array.from({ length: count }, () => 1 + below(random, 2048)),
    crc32s: Uint32Array.from({ length: count }, () => below(random, 2 ** 32)),
    statuses: new Uint8Array(count),
    offsets: null,
    attempts: null,
    key: () => null,
    reason: () => null,
  }
}

export const entriesOf = (rows: EntryRows): ManifestEntry[] =>
  Array.from({ length: rows.count }, (_, row) => rowEntry(rows, row))

/** What a table says, whatever the order in which it came to know it. */
export const contents = (table: EntryTable): ManifestEntry[] =>
  [...table.entries()].sort((a, b) => (a.hash < b.hash ? -1 : 1))

export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items]
  const out: T[] = []
  while (left.length > 0) out.push(...left.splice(below(random, left.length), 1))
  return out
}
