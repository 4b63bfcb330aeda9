/**
 * The manifest of one run: what is stored, as a log of immutable segments in the store. A start
 * writes under a name of its own, so that two of them never meet; what they wrote is a union.
 */
import { crc32 } from 'node:zlib'
import { type Clock, type Random, wallClock } from '../clock.ts'
import { Failure } from '../failure.ts'
import { probe } from '../probe.ts'
import { abortUploads } from '../store/open-upload.ts'
import type { ObjectStore } from '../store/store.ts'
import { Block } from './block.ts'
import {
  type Compacted,
  type CompactOptions,
  compact,
  findNeedless,
  type NeedlessFile,
} from './compact.ts'
import type { ManifestEntry } from './entry.ts'
import type { Heads } from './heads.ts'
import { segmentKey, snapshotsPrefix } from './names.ts'
import { type Replayed, replay, uncoveredIn } from './replay.ts'
import { encodeManifest, isWhole } from './segment.ts'
import { EntryTable } from './table.ts'
import { WrittenNote } from './written.ts'

/** The manifest, open for one start: read by `replay`, written under this start's name alone. */
export interface Manifest {
  /** The union of all that was read and appended. */
  readonly table: EntryTable
  /** Segments of this writer so far. */
  readonly appended: number
  /** Segments, of whichever writer, read or appended, that no known snapshot covers. */
  readonly uncovered: number
  /**
   * Brings the table up to what the store holds, this time and any later.
   *
   * @throws Failure `corrupt`: a file is damaged or missing; the run must not go on without it
   */
  replay(): Promise<EntryTable>
  /**
   * Writes one segment; afterwards the entries are committed. Calls are served one after the other.
   * After a Failure `unavailable` the segment may be there or not: call again, with the same
   * entries or others; the segment is written first as it was.
   *
   * @returns   the segment's key
   * @throws    Failure `superseded`: another writes under this writer's name
   */
  append(entries: readonly ManifestEntry[]): Promise<string>
  /**
   * Writes a snapshot of all there is, where segments lie uncovered. Removes segments, and
   * snapshots that a newer one makes needless, once the snapshot that covers them is `graceMs` old:
   * until then someone may be reading them. Segments may be appended meanwhile.
   */
  compact(options: CompactOptions): Promise<Compacted>
  /** What `compact` would remove now; changes nothing in the store. */
  needless(options: { readonly graceMs: number }): Promise<readonly NeedlessFile[]>
  /** Notes beside the manifest how far it was read, as `append` does. For who writes it alone. */
  noteAnew(): void
  /** Settles when what was appended is noted beside the manifest, or could not be. */
  noted(): Promise<void>
  /** Aborts snapshots that an earlier start left half sent. For who holds the run's lock alone. */
  abortUnfinished(): Promise<void>
}

/** How often a segment is put that the store did not keep as it was. */
const putsMax = 3

/** Who writes; time and chance are for compaction. */
export interface ManifestOptions {
  /** From `newWriterId`, for this start alone. */
  readonly writer: string
  readonly clock?: Clock
  readonly random?: Random
  /** Settles when others have had a turn; default: at the thread's next. */
  readonly turn?: () => Promise<void>
  /** Told why it was not noted how far this manifest is written: no harm but for a loss untold. */
  readonly unnoted?: (failure: Failure) => void
  /** Told where what was noted of that is damaged: the rest of it counts, and is noted anew. */
  readonly damaged?: (failure: Failure) => void
}

/** Reads nothing yet: `replay` does. */
export function openManifest(store: ObjectStore, options: ManifestOptions): Manifest {
  const { writer, clock = wallClock, random = Math.random, turn } = options
  const state: Replayed = {
    table: new EntryTable(),
    heads: new Map(),
    snapshots: new Map(),
    seen: new Map(),
  }
  const note = new WrittenNote(store, options.unnoted)
  const segments = new SegmentWriter(store, writer, { state, note })
  const serial = queue()
  const compactions = queue()
  const refresh = () => serial(() => replay(store, state, options.damaged))
  return {
    table: state.table,
    get appended() {
      return segments.next
    },
    get uncovered() {
      return uncoveredIn(state)
    },
    replay: async () => {
      await refresh()
      return state.table
    },
    append: (entries) => serial(() => segments.append(entries)),
    // In a queue of its own: a snapshot takes long to send, and commits do not wait for it.
    compact: (how) =>
      compactions(() => compact(store, { state, refresh }, { ...how, clock, random, turn })),
    needless: ({ graceMs }) =>
      compactions(() => findNeedless({ state, refresh }, { graceMs, clock })),
    noteAnew: () => note.note(state.heads),
    noted: () => note.settled(),
    abortUnfinished: () =>
      compactions(async () => {
        await abortUploads(store, snapshotsPrefix)
      }),
  }
}

interface Unsettled {
  readonly seq: number
  readonly block: Block
  readonly bytes: Buffer
}

/** Numbers segments without gaps: one is sent only when the one before is known to be there. */
class SegmentWriter {
  /** The number of the next segment. */
  next = 0
  /** Sent, and no answer came. Its bytes never change: a late copy of it may still arrive. */
  #unsettled: Unsettled | undefined
  readonly #store: ObjectStore
  readonly #writer: string
  readonly #state: Replayed
  readonly #note: WrittenNote

  constructor(
    store: ObjectStore,
    writer: string,
    { state, note }: { readonly state: Replayed; readonly note: WrittenNote },
  ) {
    this.#store = store
    this.#writer = writer
    this.#state = state
    this.#note = note
  }

  async append(entries: readonly ManifestEntry[]): Promise<string> {
    const block = new Block(entries.length)
    for (const entry of entries) block.push(entry)
    const before = this.#unsettled
    if (before) {
      const same = this.#encode(block, before.seq).equals(before.bytes)
      await this.#settle(before)
      if (same) return this.#key(before.seq)
    }
    const segment = { seq: this.next, block, bytes: this.#encode(block, this.next) }
    this.#unsettled = segment
    await this.#settle(segment)
    return this.#key(segment.seq)
  }

  async #settle({ seq, block, bytes }: Unsettled): Promise<void> {
    const key = this.#key(seq)
    probe('manifest.before-put')
    await this.#store.putIfAbsent(key, bytes, { crc32: crc32(bytes) })
    await this.#confirm(key, bytes)
    probe('manifest.put')
    this.#unsettled = undefined
    this.next = seq + 1
    this.#state.heads.set(this.#writer, this.next)
    this.#state.table.merge(block)
    this.#note.note(this.#state.heads)
  }

  /** A 200 alone proves nothing, and what the segment names is removed from the spool next. */
  async #confirm(key: string, bytes: Buffer): Promise<void> {
    for (let puts = 1; ; puts++) {
      const found = await this.#store.get(key)
      if (found?.equals(bytes)) return
      // What was damaged on its way may be put again; a whole file is another's.
      if (found && isWhole(found, key)) throw supersededBy(key)
      if (puts === putsMax) throw unkept(key, bytes.length, found?.length)
      await this.#store.put(key, bytes, { crc32: crc32(bytes) })
    }
  }

  #encode(block: Block, seq: number): Buffer {
    const { heads } = this.#state
    const seen: Heads =
      seq > 0 ? new Map() : new Map([...heads].filter(([w]) => w !== this.#writer))
    return encodeManifest([block], { kind: 'segment', writer: this.#writer, seq, seen })
  }

  #key(seq: number): string {
    return segmentKey({ writer: this.#writer, seq })
  }
}

const supersededBy = (key: string): Failure =>
  new Failure('superseded', `another writes under this writer's name. key=${key}`, {
    remedy: 'Let one supervisor run; start the other again when it has ended.',
  })

const unkept = (key: string, want: number, found: number | undefined): Failure => {
  const bytes = `bytes: want=${want}, found=${found ?? 'no such object'}`
  return new Failure(
    'unavailable',
    `store does not keep a segment as it was put. key=${key}, ${bytes}`,
  )
}

/** Runs what it is given one after the other, each whatever became of the one before. */
function queue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work, work)
    last = result.catch(() => undefined)
    return result
  }
}
