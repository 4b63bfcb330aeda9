/** From a store to the table: newest snapshots, then the segments that none of them covers. */
import { eachOf } from '../each-of.ts'
import { Failure } from '../failure.ts'
import type { ObjectInfo, ObjectStore } from '../store/store.ts'
import { damaged } from './header.ts'
import { absent, type Heads, includes, raise } from './heads.ts'
import {
  parseSegmentKey,
  parseSnapshotKey,
  type SegmentName,
  segmentKey,
  segmentsPrefix,
  snapshotsPrefix,
  writtenKey,
} from './names.ts'
import { openObject, readersMax } from './read.ts'
import type { EntryTable } from './table.ts'
import { readWritten } from './written.ts'

/** Listings that may contradict what is read, each because another compacted or wrote meanwhile. */
const triesMax = 5

/** What has been read so far. */
export interface Replayed {
  readonly table: EntryTable
  /** The segments whose entries are in the table. */
  readonly heads: Map<string, number>
  /** Every snapshot that was opened. */
  readonly snapshots: Map<string, KnownSnapshot>
  /** What the writers of the segments read had seen. */
  readonly seen: Map<string, number>
}

export interface KnownSnapshot {
  readonly covers: Heads
  /** Read whole, or written, by this process: only then may anything be removed on its word. */
  readonly proved: boolean
}

export interface ListedSegment extends SegmentName {
  readonly key: string
  readonly size: number
}

export interface ListedSnapshot {
  readonly id: string
  readonly key: string
  readonly size: number
  readonly lastModified: number
}

export interface Listing {
  readonly segments: readonly ListedSegment[]
  /** Newest first. */
  readonly snapshots: readonly ListedSnapshot[]
}

/**
 * Brings the table up to what the store holds; what was read before is not read again.
 *
 * @param damaged  told where it cannot be read how far the manifest was written
 * @returns   the listing that the table now agrees with
 * @throws    Failure `corrupt`: a file is damaged, or one that must have been written is not there
 */
export async function replay(
  store: ObjectStore,
  state: Replayed,
  damaged?: (failure: Failure) => void,
): Promise<Listing> {
  const noted = await readWritten(store, damaged)
  let gap: Gap | undefined
  for (let tries = 0; tries < triesMax; tries++) {
    gap = undefined
    const listed = await list(store)
    if (!(await readSnapshots(store, listed, state))) continue
    const listing = await withUnlisted(store, listed, { state, noted })
    gap = gapIn(listing, state, noted)
    if (gap) continue
    if (!(await readSegments(store, listing, state))) continue
    gap = gapIn(listing, state, noted)
    if (!gap) return listing
  }
  if (gap) throw missing(gap)
  throw new Failure('unavailable', `manifest changes faster than it is read. tries=${triesMax}`)
}

/** Segments first: one that a compaction has removed by now is in a snapshot listed after it. */
async function list(store: ObjectStore): Promise<Listing> {
  const segments: ListedSegment[] = []
  for await (const { key, size } of store.list(segmentsPrefix)) {
    const name = parseSegmentKey(key)
    if (name) segments.push({ ...name, key, size })
  }
  const snapshots: ListedSnapshot[] = []
  for await (const info of store.list(snapshotsPrefix)) snapshots.push(...snapshotOf(info))
  return { segments, snapshots: snapshots.reverse() }
}

function snapshotOf({ key, size, lastModified }: ObjectInfo): ListedSnapshot[] {
  const id = parseSnapshotKey(key)
  return id === undefined ? [] : [{ id, key, size, lastModified }]
}

async function readSnapshots(
  store: ObjectStore,
  { segments, snapshots }: Listing,
  state: Replayed,
): Promise<boolean> {
  for (const { id, key, size } of snapshots) {
    const known = state.snapshots.get(id)
    const isNeeded = (covers: Heads) => mustBeRead({ size, covers }, open(segments, state), state)
    if (known && !isNeeded(known.covers)) continue
    // Who follows a run has most of it in the table already.
    const opened = await openObject(
      store,
      { key, size },
      state.heads.size > 0 ? 'header' : 'entries',
    )
    if (!opened) return false
    const { header } = opened
    if (header.kind !== 'snapshot' || header.id !== id) throw damaged(key, 'it is another file')
    const proved = isNeeded(header.covers)
    if (proved) {
      state.table.reserve(Math.max(header.entries, state.table.size))
      if (!(await opened.read((rows) => state.table.merge(rows)))) return false
      raise(state.heads, header.covers)
    }
    state.snapshots.set(id, { covers: header.covers, proved })
  }
  return true
}

/**
 * Whether a snapshot holds what no segment does any more, or in fewer bytes: whoever follows a run
 * reads the few segments that are new to him, not all there is once a compaction.
 */
function mustBeRead(
  snapshot: { readonly size: number; readonly covers: Heads },
  segments: readonly ListedSegment[],
  state: Replayed,
): boolean {
  const inIt = segments.filter((segment) => includes(snapshot.covers, segment))
  const bytes = inIt.reduce((sum, { size }) => sum + size, 0)
  return bytes > snapshot.size || absent(state.heads, inIt, snapshot.covers).length > 0
}

async function readSegments(
  store: ObjectStore,
  listing: Listing,
  state: Replayed,
): Promise<boolean> {
  const wanted = open(listing.segments, state)
  let complete = true
  await eachOf(wanted, readersMax, async ({ key, size, writer, seq }) => {
    const opened = await openObject(store, { key, size })
    if (!opened) {
      complete = false
      return
    }
    const { header } = opened
    if (header.kind !== 'segment' || header.writer !== writer || header.seq !== seq) {
      throw damaged(key, 'it is another file')
    }
    raise(state.seen, header.seen)
    await opened.read((rows) => state.table.merge(rows))
  })
  // Only whole listings move the heads: a segment read before one that has gone is read twice,
  // which a union does not mind.
  if (complete) raise(state.heads, new Map(wanted.map(({ writer, seq }) => [writer, seq + 1])))
  return complete
}

/** How many segments the table was read from that no snapshot holds, as far as is known. */
export function uncoveredIn({ heads, snapshots }: Replayed): number {
  const covered = new Map<string, number>()
  for (const { covers } of snapshots.values()) raise(covered, covers)
  let count = 0
  for (const [writer, next] of heads) count += Math.max(0, next - (covered.get(writer) ?? 0))
  return count
}

interface Gap extends SegmentName {
  /** Nothing that is left of the manifest knows of it: only what was noted beside it. */
  readonly onlyNoted: boolean
}

function gapIn(listing: Listing, state: Replayed, noted: Heads): Gap | undefined {
  const listed = open(listing.segments, state)
  const [known] = absent(state.heads, listed, state.seen)
  if (known) return { ...known, onlyNoted: false }
  const [told] = absent(state.heads, listed, noted)
  return told && { ...told, onlyNoted: true }
}

/** A store may list late what it has long confirmed: by its name it is found. */
async function withUnlisted(
  store: ObjectStore,
  listing: Listing,
  { state, noted }: { readonly state: Replayed; readonly noted: Heads },
): Promise<Listing> {
  const segments = [...listing.segments]
  for (;;) {
    const gap = gapIn({ ...listing, segments }, state, noted)
    const key = gap && segmentKey(gap)
    const found = key && (await store.head(key))
    if (!found) return { ...listing, segments }
    segments.push({ writer: gap.writer, seq: gap.seq, key, size: found.size })
  }
}

/** Those whose entries are not in the table yet. */
const open = (segments: readonly ListedSegment[], { heads }: Replayed): ListedSegment[] =>
  segments.filter((segment) => !includes(heads, segment))

const missing = (gap: Gap): Failure =>
  new Failure(
    'corrupt',
    `manifest segment is missing, and no snapshot holds it. key=${segmentKey(gap)}`,
    {
      remedy: gap.onlyNoted
        ? `Restore this object (from a version or a copy). Or remove ${writtenKey}, knowingly: ` +
          'then every sample that only such missing files name is extracted again.'
        : 'Restore this object (from a version or a copy). Or remove everything under manifest/, ' +
          'knowingly: then every sample is extracted again.',
    },
  )
