import { systemClock } from '../../src/clock.ts'
import { type EntryRows, type ManifestEntry, rowEntry } from '../../src/manifest/entry.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { writeSnapshot } from '../../src/manifest/snapshot.ts'
import { EntryTable } from '../../src/manifest/table.ts'
import type { ObjectStore } from '../../src/store/store.ts'

/** The manifest of a run that is under way: a snapshot of most, and the segments since. */

/** What was committed since the last compaction: segments, and entries a segment at most. */
const recent = { segments: 50, entriesMax: 1000 }
const chunkRows = 1 << 16

export interface Written {
  /** The next of them, so many. */
  readonly rows: (count: number) => EntryRows
  readonly each?: (entry: ManifestEntry) => unknown
}

/** @returns  how many segments lie beside the snapshot */
export async function writeManifest(
  store: ObjectStore,
  entries: number,
  { rows, each }: Written,
): Promise<number> {
  const perSegment = Math.min(recent.entriesMax, Math.floor(entries / (2 * recent.segments)))
  const segments = perSegment === 0 ? 0 : recent.segments
  const table = new EntryTable()
  for (let left = entries - segments * perSegment; left > 0; left -= chunkRows) {
    table.merge(rows(Math.min(chunkRows, left)))
  }
  await writeSnapshot(store, {
    id: newWriterId(systemClock, Math.random),
    covers: new Map([[newWriterId(systemClock, Math.random), Math.ceil(table.size / 1000)]]),
    blocks: table.blocks,
  })
  if (each) for (const entry of table.entries()) each(entry)
  const manifest = openManifest(store, { writer: newWriterId(systemClock, Math.random) })
  for (let i = 0; i < segments; i++) {
    const columns = rows(perSegment)
    const more = Array.from({ length: perSegment }, (_, row) => rowEntry(columns, row))
    await manifest.append(more)
    if (each) more.forEach(each)
  }
  return segments
}
