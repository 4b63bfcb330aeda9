/** The manifest's table against a listing of the store: presence and size of every object. */

import { eachOf } from '../each-of.ts'
import { entryKey, type ManifestEntry, stored } from '../manifest/entry.ts'
import { parseSampleKey } from '../manifest/key.ts'
import type { EntryTable } from '../manifest/table.ts'
import type { ObjectInfo, ObjectStore } from '../store/store.ts'

const samplesPrefix = 'hidden-states/'
export const notThere = 'is not there'

/** A stored sample whose object is not what its line says. */
export interface Difference {
  readonly hash: string
  readonly key: string
  readonly problem: string
}

export interface CompareHooks {
  /** Told of each object that no line names. */
  readonly unnamed: (object: ObjectInfo) => void
  /** Told after each object that was listed. */
  readonly listed: () => void
}

/**
 * Lists all sample objects once. Holds a bit a line in memory and what differs, not the listing.
 *
 * @throws Failure: the store cannot be listed
 */
export async function compareListing(
  store: ObjectStore,
  table: EntryTable,
  hooks: CompareHooks,
): Promise<Difference[]> {
  const seen = new Uint8Array(Math.ceil(table.size / 8))
  const spelt = speltKeys(table)
  const differ: Difference[] = []
  for await (const object of store.list(samplesPrefix)) {
    const rows = rowsNaming(object.key, { table, spelt })
    for (const row of rows) {
      mark(seen, row)
      const difference = sizeDifference(object, table.entryAt(row))
      if (difference) differ.push(difference)
    }
    if (rows.length === 0) hooks.unnamed(object)
    hooks.listed()
  }
  for (let row = 0; row < table.size; row++) {
    if (table.statusAt(row) !== stored || isMarked(seen, row)) continue
    differ.push(differenceOf(table.entryAt(row), notThere))
  }
  return differ
}

/**
 * Asks by its name for each object that a listing did not show: a listing that was cut short must
 * not make lost what is there.
 *
 * @returns  what differs still
 */
export async function askForMissing(
  store: ObjectStore,
  table: EntryTable,
  { differ, parallel }: { readonly differ: readonly Difference[]; readonly parallel: number },
): Promise<Difference[]> {
  const still: Difference[] = []
  await eachOf(differ, parallel, async (difference) => {
    const isMissing = difference.problem === notThere
    const found = isMissing ? await store.head(difference.key) : undefined
    const entry = table.entryAt(table.find(difference.hash))
    const now = found ? sizeDifference(found, entry) : difference
    if (now) still.push(now)
  })
  return still
}

export const differenceOf = (entry: ManifestEntry, problem: string): Difference => ({
  hash: entry.hash,
  key: entryKey(entry),
  problem,
})

/** Keys that do not follow from hash and checksum, such as packed objects': the rows of each. */
type SpeltKeys = ReadonlyMap<string, readonly number[]>

function speltKeys(table: EntryTable): SpeltKeys {
  const spelt = new Map<string, number[]>()
  let first = 0
  for (const block of table.blocks) {
    for (let row = 0; row < block.count; row++) {
      const key = block.statuses[row] === stored ? block.key(row) : null
      if (key === null) continue
      const rows = spelt.get(key)
      if (rows) rows.push(first + row)
      else spelt.set(key, [first + row])
    }
    first += block.count
  }
  return spelt
}

function rowsNaming(
  key: string,
  { table, spelt }: { readonly table: EntryTable; readonly spelt: SpeltKeys },
): readonly number[] {
  const named = spelt.get(key)
  if (named) return named
  const hash = parseSampleKey(key)?.hash
  const row = hash === undefined ? -1 : table.find(hash)
  if (row < 0 || table.statusAt(row) !== stored) return []
  return entryKey(table.entryAt(row)) === key ? [row] : []
}

/** An object may hold more than one sample; one whose key is its own holds nothing else. */
function sizeDifference({ key, size }: ObjectInfo, entry: ManifestEntry): Difference | undefined {
  const end = entry.offset + entry.length
  const fits = entry.key === null ? size === end : size >= end
  return fits ? undefined : { hash: entry.hash, key, problem: `size: want=${end}, found=${size}` }
}

const mark = (bits: Uint8Array, row: number): void => {
  bits[row >> 3] = (bits[row >> 3] ?? 0) | (1 << (row & 7))
}

const isMarked = (bits: Uint8Array, row: number): boolean =>
  ((bits[row >> 3] ?? 0) & (1 << (row & 7))) !== 0
