/**
 * The manifest of one run: what is stored, as a log of immutable segments in the store. A start
 * writes under a name of its own, so that two of them never meet; what they wrote is a union.
 */
import { crc32 } from 'node:zlib'
import { type Clock, type Random, systemClock } from '../clock.ts'
import { Failure } from '../failure.ts'
import { probe } from '../probe.ts'
import type { ObjectStore } from '../store/store.ts'
import { Block } from './block.ts'
import { type Compacted, compact } from './compact.ts'
import type { ManifestEntry } from './entry.ts'
import type { Heads } from './heads.ts'
import { segmentKey } from './names.ts'
import { type Replayed, replay } from './replay.ts'
import { encodeManifest } from './segment.ts'
import { EntryTable } from './table.ts'

/** The manifest, open for one start: read by `replay`, written under this start's name alone. */
export interface Manifest {
  /** The union of all that was read and appended. */
  readonly table: EntryTable
  /** Segments of this writer so far. */
  readonly appended: number
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
   * until then someone may be reading them.
   */
  compact(options: { readonly graceMs: number }): Promise<Compacted>
}

/** Who writes; time and chance are for compaction. */
export interface ManifestOptions {
  /** From `newWriterId`, for this start alone. */
  readonly writer: string
  readonly clock?: Clock
  readonly random?: Random
}

/** Reads nothing yet: `replay` does. */
export function openManifest(store: ObjectStore, options: ManifestOptions): Manifest {
  const { writer, clock = systemClock, random = Math.random } = options
  const state: Replayed = {
    table: new EntryTable(),
    heads: new Map(),
    snapshots: new Map(),
    seen: new Map(),
  }
  const segments = new SegmentWriter(store, writer, state)
  const serial = queue()
  return {
    table: state.table,
    get appended() {
      return segments.next
    },
    replay: () =>
      serial(async () => {
        await replay(store, state)
        return state.table
      }),
    append: (entries) => serial(() => segments.append(entries)),
    compact: ({ graceMs }) => serial(() => compact(store, state, { graceMs, clock, random })),
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

  constructor(store: ObjectStore, writer: string, state: Replayed) {
    this.#store = store
    this.#writer = writer
    this.#state = state
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
    const fresh = await this.#store.putIfAbsent(key, bytes, { crc32: crc32(bytes) })
    if (!fresh) await this.#requireOurs(key, bytes)
    probe('manifest.put')
    this.#unsettled = undefined
    this.next = seq + 1
    this.#state.heads.set(this.#writer, this.next)
    this.#state.table.merge(block)
  }

  /** A try whose answer was lost may have put it there. */
  async #requireOurs(key: string, bytes: Buffer): Promise<void> {
    const found = await this.#store.get(key)
    if (found?.equals(bytes)) return
    throw new Failure('superseded', `another writes under this writer's name. key=${key}`, {
      remedy: 'Let one supervisor run; start the other again when it has ended.',
    })
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

/** Runs what it is given one after the other, each whatever became of the one before. */
function queue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work, work)
    last = result.catch(() => undefined)
    return result
  }
}
