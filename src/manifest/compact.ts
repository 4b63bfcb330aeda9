/** Many segments → one snapshot; then, after a grace, the segments it covers are removed. */

import type { Clock, Random } from '../clock.ts'
import { eachOf } from '../each-of.ts'
import { probe } from '../probe.ts'
import type { ObjectStore } from '../store/store.ts'
import { covers, type Heads, includes, raise } from './heads.ts'
import { newWriterId, snapshotKey } from './names.ts'
import { readersMax } from './read.ts'
import type { ListedSnapshot, Listing, Replayed } from './replay.ts'
import { writeSnapshot } from './snapshot.ts'

/** What a compaction did: the snapshot it wrote, how many files it removed. */
export interface Compacted {
  /** Undefined where all that is there was in a snapshot already. */
  readonly snapshot: string | undefined
  readonly removed: number
}

/** How long what a snapshot covers stays beside it, and who may end the work. */
export interface CompactOptions {
  readonly graceMs: number
  /** Gives up at the next part, and leaves nothing half sent. */
  readonly signal?: AbortSignal
}

/** Time, chance, and turns for others: see `SnapshotContents`. */
export interface CompactTools {
  readonly clock: Clock
  readonly random: Random
  readonly turn?: (() => Promise<void>) | undefined
}

/** What is compacted; `refresh` replays, at a moment when nothing is being appended. */
export interface Compactable {
  readonly state: Replayed
  readonly refresh: () => Promise<Listing>
}

/**
 * Segments may be appended meanwhile: what the snapshot covers is settled before it is written.
 *
 * @throws as `replay` and `writeSnapshot`
 */
export async function compact(
  store: ObjectStore,
  { state, refresh }: Compactable,
  options: CompactOptions & CompactTools,
): Promise<Compacted> {
  const listing = await refresh()
  const snapshot = isCovered(state, listing) ? undefined : await write(store, state, options)
  const needless = needlessIn(listing, state, options)
  if (needless.length > 0) probe('manifest.before-remove')
  await eachOf(needless, readersMax, ({ key }) => store.remove(key))
  return { snapshot, removed: needless.length }
}

/** What a compaction would remove now, and write nothing. @throws as `replay` */
export const findNeedless = async (
  { state, refresh }: Compactable,
  options: { readonly graceMs: number; readonly clock: Clock },
): Promise<readonly NeedlessFile[]> => needlessIn(await refresh(), state, options)

/** A file that a snapshot makes needless; its size in bytes. */
export interface NeedlessFile {
  readonly key: string
  readonly size: number
}

function needlessIn(
  listing: Listing,
  state: Replayed,
  { clock, graceMs }: { readonly clock: Clock; readonly graceMs: number },
): readonly NeedlessFile[] {
  const now = clock.now()
  // Clocks may differ from the store's. A file removed too early costs a reader one more listing,
  // no more: what it named is in a snapshot that the store holds.
  const settled = listing.snapshots.filter(
    ({ id, lastModified }) => state.snapshots.get(id)?.proved && now - lastModified >= graceMs,
  )
  return coveredBy(settled, listing, state)
}

const isCovered = (state: Replayed, listing: Listing): boolean =>
  listing.snapshots.some(
    ({ id }) => state.snapshots.get(id)?.proved && covers(coverage(state, id), state.heads),
  )

async function write(
  store: ObjectStore,
  state: Replayed,
  { clock, random, signal, turn }: CompactOptions & CompactTools,
): Promise<string> {
  const id = newWriterId(clock, random)
  const covers = new Map(state.heads)
  probe('manifest.before-snapshot')
  await writeSnapshot(store, { id, covers, blocks: state.table.blocks, signal, turn })
  probe('manifest.snapshot')
  state.snapshots.set(id, { covers, proved: true })
  return snapshotKey(id)
}

function coveredBy(
  settled: readonly ListedSnapshot[],
  listing: Listing,
  state: Replayed,
): readonly NeedlessFile[] {
  const covered = new Map<string, number>()
  for (const { id } of settled) raise(covered, coverage(state, id))
  const segments = listing.segments.filter((segment) => includes(covered, segment))
  // Only by a newer one: of two that cover the same, two compactions at once must leave one.
  const snapshots = listing.snapshots.filter((older) =>
    settled.some(
      (newer) =>
        newer.id > older.id && covers(coverage(state, newer.id), coverage(state, older.id)),
    ),
  )
  return [...segments, ...snapshots]
}

const coverage = (state: Replayed, id: string): Heads =>
  state.snapshots.get(id)?.covers ?? new Map()
