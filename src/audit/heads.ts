/** What the store itself says of single objects: their checksums, where it keeps them. */
import type { Random } from '../clock.ts'
import { eachOf } from '../each-of.ts'
import { entryKey, type ManifestEntry, stored } from '../manifest/entry.ts'
import type { EntryTable } from '../manifest/table.ts'
import type { ObjectStore } from '../store/store.ts'
import { type Difference, differenceOf, notThere } from './compare.ts'

export interface ToldOfHeads {
  readonly asked: number
  /** Answers that told a checksum of the whole object. */
  readonly told: number
  readonly differ: readonly Difference[]
}

/**
 * Stored samples, spread evenly over the table: one by chance out of each of `count` equal
 * stretches. All of them where there are no more than that.
 */
export function* pickStored(
  table: EntryTable,
  count: number,
  random: Random,
): Generator<ManifestEntry> {
  const picks = Math.min(count, table.stored)
  const start = (index: number): number => Math.floor((index * table.stored) / picks)
  const pick = (index: number): number =>
    start(index) + Math.floor(random() * (start(index + 1) - start(index)))
  let [picked, rank] = [0, 0]
  let next = picks > 0 ? pick(0) : -1
  for (let row = 0; row < table.size && picked < picks; row++) {
    if (table.statusAt(row) !== stored) continue
    if (rank++ !== next) continue
    yield table.entryAt(row)
    next = pick(++picked)
  }
}

/**
 * @param parallel  requests open at once
 * @param asked     told after each answer
 * @throws          Failure: the store does not answer, or not to us
 */
export async function askHeads(
  store: ObjectStore,
  entries: Iterable<ManifestEntry>,
  { parallel, asked }: { readonly parallel: number; readonly asked: () => void },
): Promise<ToldOfHeads> {
  const differ: Difference[] = []
  const counts = { asked: 0, told: 0 }
  await eachOf(entries, parallel, async (entry) => {
    const found = await store.head(entryKey(entry))
    counts.asked++
    // Of an object that holds several samples, the checksum is of none of them.
    const crc32 = entry.key === null ? found?.crc32 : undefined
    if (crc32 !== undefined) counts.told++
    if (!found) differ.push(differenceOf(entry, notThere))
    else if (crc32 !== undefined && crc32 !== entry.crc32) {
      differ.push(differenceOf(entry, `crc32: want=${entry.crc32}, found=${crc32}`))
    }
    asked()
  })
  return { ...counts, differ }
}
