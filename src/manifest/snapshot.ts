/**
 * A snapshot, written block by block: the table it is made of may hold hundreds of megabytes, goes
 * on growing meanwhile, and lives in a thread that others wait for.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { Failure, isFailure } from '../failure.ts'
import { LateHeadPut } from '../store/late-head-put.ts'
import type { ObjectStore } from '../store/store.ts'
import type { EntryRows } from './entry.ts'
import { formatVersion, headerText } from './header.ts'
import type { Heads } from './heads.ts'
import { snapshotKey } from './names.ts'
import { openObject } from './read.ts'
import { encodeBatch, encodeOpening, endMark } from './segment.ts'

/** What goes into one snapshot. */
export interface SnapshotContents {
  readonly id: string
  /** The segments whose entries are all in the blocks. */
  readonly covers: Heads
  /** May change while they are written: rows may come, and better ones replace those there. */
  readonly blocks: readonly EntryRows[]
  readonly signal?: AbortSignal | undefined
  /** Settles when others have had a turn, as they have between blocks. */
  readonly turn?: (() => Promise<void>) | undefined
}

/**
 * Writes the snapshot and reads it back: other files will be removed on its word.
 *
 * @throws Failure `unavailable`: also where the store holds something else than it was given
 */
export async function writeSnapshot(store: ObjectStore, contents: SnapshotContents): Promise<void> {
  const key = snapshotKey(contents.id)
  await send(store, key, contents)
  await prove(store, key, contents.signal)
}

async function send(store: ObjectStore, key: string, contents: SnapshotContents): Promise<void> {
  const { id, covers, signal, turn = nextTurn } = contents
  const blocks = contents.blocks.filter(({ count }) => count > 0)
  const facts = { kind: 'snapshot', id, covers, format: formatVersion } as const
  // The header says what only the last block tells. Room is left for the longest it can be; JSON
  // takes blanks at its end.
  const max = Number.MAX_SAFE_INTEGER
  const widest = headerText({ ...facts, entries: max, batches: blocks.map(() => [max, max]) })
  const put = new LateHeadPut(store, key, { headBytes: encodeOpening(widest).length, signal })
  try {
    const batches: [number, number][] = []
    let entries = 0
    for (const block of blocks) {
      await turn()
      const bytes = encodeBatch(block)
      entries += block.count
      batches.push([bytes.length, crc32(bytes)])
      await put.add(bytes)
    }
    await put.add(endMark)
    const text = headerText({ ...facts, entries, batches }).padEnd(widest.length)
    await put.finish(encodeOpening(text))
  } catch (error) {
    await put.abort()
    throw error
  }
}

/** One that is damaged goes: whoever read it would refuse the run. */
async function prove(
  store: ObjectStore,
  key: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  let cause: unknown
  try {
    const found = await store.head(key)
    const opened = found && (await openObject(store, found))
    if (await opened?.read(() => signal?.throwIfAborted(), 1)) return
  } catch (error) {
    if (!isFailure(error, 'corrupt')) throw error
    cause = error
    await store.remove(key)
  }
  throw new Failure('unavailable', `store does not hold the snapshot it has taken. key=${key}`, {
    cause,
    remedy: 'Nothing is lost: the segments stay. Look at the store if it happens again.',
  })
}
