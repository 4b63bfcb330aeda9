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
  const words = filled(new Uint32Array(count * 4), () => word(random))
  const statuses = filled(new Uint8Array(count), () =>
    random() * badOneIn < 1 ? quarantined : stored,
  )
  const tokens = filled(new Uint32Array(count), () => 1 + Math.floor(random() * 567))
  const isBad = (row: number) => statuses[row] === quarantined
  return {
    count,
    words,
    statuses,
    tokens,
    lengths: filled(new Float64Array(count), (row) => {
      return isBad(row) ? 0 : 400 + (tokens[row] ?? 0) * 40_968
    }),
    crc32s: filled(new Uint32Array(count), (row) => (isBad(row) ? 0 : word(random))),
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

/** Not by `from`, which takes several times as long. */
function filled<T extends Uint8Array | Uint32Array | Float64Array>(
  column: T,
  valueAt: (row: number) => number,
): T {
  for (let row = 0; row < column.length; row++) column[row] = valueAt(row)
  return column
}

const word = (random: Random): number => Math.floor(random() * 2 ** 32)
