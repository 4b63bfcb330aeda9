/** One line of the manifest, alone and as columns; what makes one valid. */
import { roundOf } from './attempt.ts'
import { isObjectKey, sampleKey } from './key.ts'

export const stored = 0
export const quarantined = 1
export const lost = 2
const statuses = ['stored', 'quarantined', 'lost'] as const
export const attemptMax = 0xffff

/** What became of one distinct sample. */
export interface ManifestEntry {
  /** 32 hexadecimal digits. */
  readonly hash: string
  /** Null: the canonical key, which follows from hash and crc32. */
  readonly key: string | null
  /** Where in the object the sample's bytes lie: from `offset`, so many as `length`. */
  readonly offset: number
  readonly length: number
  readonly tokens: number
  /** CRC-32 of the sample's bytes. */
  readonly crc32: number
  /** `lost`: its object was found missing or damaged, and it is to be computed again. */
  readonly status: (typeof statuses)[number]
  /** Why it could not be computed, or how it was found lost; null for what is stored. */
  readonly reason: string | null
  /** 0, and one more for each `retry-quarantined`; a loss begins a new round (`attempt.ts`). */
  readonly attempt: number
}

/**
 * Entries as columns, a row each: millions of them cost no object and no string. Absent columns
 * hold zeros only.
 */
export interface EntryRows {
  readonly count: number
  /** The 16 bytes of each hash, as four words of the machine's order. */
  readonly words: Uint32Array
  readonly lengths: Float64Array
  readonly tokens: Uint32Array
  readonly crc32s: Uint32Array
  readonly statuses: Uint8Array
  readonly offsets: Float64Array | null
  readonly attempts: Uint16Array | null
  key(row: number): string | null
  reason(row: number): string | null
}

/** The object that holds an entry's bytes. */
export const entryKey = (entry: ManifestEntry): string =>
  entry.key ?? sampleKey(entry.hash, entry.crc32)

/** The 16 bytes of rows' hashes, without a copy. */
export const hashBytes = (rows: EntryRows): Uint8Array =>
  new Uint8Array(rows.words.buffer, rows.words.byteOffset, rows.count * 16)

export const rowHash = (rows: EntryRows, row: number): string =>
  Buffer.from(rows.words.buffer, rows.words.byteOffset + row * 16, 16).toString('hex')

export const rowEntry = (rows: EntryRows, row: number): ManifestEntry => ({
  hash: rowHash(rows, row),
  key: rows.key(row),
  offset: rows.offsets?.[row] ?? 0,
  length: rows.lengths[row] ?? 0,
  tokens: rows.tokens[row] ?? 0,
  crc32: rows.crc32s[row] ?? 0,
  status: statuses[rows.statuses[row] ?? quarantined] ?? 'quarantined',
  reason: rows.reason(row),
  attempt: rows.attempts?.[row] ?? 0,
})

export const statusCode = (status: ManifestEntry['status']): number => statuses.indexOf(status)

/**
 * What is wrong with a row, or null. Types cannot say it, and what is read was written elsewhere.
 */
export function rowFault(rows: EntryRows, row: number): string | null {
  const status = rows.statuses[row]
  const length = rows.lengths[row]
  const offset = rows.offsets?.[row] ?? 0
  const key = rows.key(row)
  const reason = rows.reason(row)
  if (!isSize(length)) return `length=${length}`
  if (!isSize(offset)) return `offset=${offset}`
  if (status === stored) {
    if (length === 0) return 'status=stored, length=0'
    if (rows.tokens[row] === 0) return 'status=stored, tokens=0'
    if (reason !== null) return `status=stored, reason=${reason}`
    if (key !== null && !isObjectKey(key)) return `key=${key}`
    return null
  }
  const name = statuses[status ?? statuses.length]
  if (name === undefined) return `status=${status}`
  if (!reason) return `status=${name}, without a reason`
  if (key !== null || offset !== 0 || length !== 0 || rows.crc32s[row] !== 0) {
    return `status=${name}, with an object`
  }
  // Such a line would change nothing: what it takes back is of its own round.
  const attempt = rows.attempts?.[row] ?? 0
  return status === lost && roundOf(attempt) === 0 ? `status=lost, attempt=${attempt}` : null
}

const isSize = (value: number | undefined): boolean =>
  value !== undefined && Number.isSafeInteger(value) && value >= 0
