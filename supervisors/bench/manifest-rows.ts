import type { Random } from '../../src/clock.ts'
import {
  type EntryRows,
  type ManifestEntry,
  quarantined,
  rowEntry,
  stored,
} from '../../src/manifest/entry.ts'

/** What a run might have stored: made up, as columns, so that ten million of them cost seconds. */

/** One in so many is quarantined. */
const badOneIn = 1000
const reason = 'values that are NaN or infinite (layer 33: 4096)'

export function randomRows(count: number, random: Random): EntryRows {
  const words = Uint32Array.from({ length: count * 4 }, () => word(random))
  const statuses = Uint8Array.from({ length: count }, () =>
    random() * badOneIn < 1 ? quarantined : stored,
  )
  const tokens = Uint32Array.from({ length: count }, () => 1 + Math.floor(random() * 567))
  const isBad = (row: number) => statuses[row] === quarantined
  return {
    count,
    words,
    statuses,
    tokens,
    lengths: Float64Array.from(tokens, (n, row) => (isBad(row) ? 0 : 400 + n * 40_968)),
    crc32s: Uint32Array.from(tokens, (_, row) => (isBad(row) ? 0 : word(random))),
    offsets: null,
    attempts: null,
    key: () => null,
    reason: (row) => (isBad(row) ? reason : null),
  }
}

export function randomEntries(count: number, random: Random): ManifestEntry[] {
  const rows = randomRows(count, random)
  return Array.from({ length: count }, (_, row) => rowEntry(rows, row))
}

const word = (random: Random): number => Math.floor(random() * 2 ** 32)
