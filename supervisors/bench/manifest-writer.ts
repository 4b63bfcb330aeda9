import { type Random, systemClock } from '../../src/clock.ts'
import type { EntryRows, ManifestEntry } from '../../src/manifest/entry.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { writeSnapshot } from '../../src/manifest/snapshot.ts'
import { EntryTable } from '../../src/manifest/table.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { randomEntries, randomRows } from './manifest-rows.ts'

/** The manifest of a run that is under way: a snapshot of most, and the segments since. */

/** What was committed since the last compaction: segments, and entries a segment at most. */
const recent = { segments: 50, entriesMax: 1000 }
const chunkRows = 1 << 16

/** @returns  how many segments lie beside the snapshot */
export async function writeManifest(
  store: ObjectStore,
  entries: number,
  { random, each }: { readonly random: Random; readonly each?: (entry: ManifestEntry) => unknown },
): Promise<number> {
  const perSegment = Math.min(recent.entriesMax, Math.floor(entries / (2 * recent.segments)))
  const segments = perSegment === 0 ? 0 : recent.segments
  const table = new EntryTable()
  for (let left = entries - segments * perSegment; left > 0; left -= chunkRows) {
    const rows: EntryRows = randomRows(Math.min(chunkRows, left), random)
    table.merge(rows)
  }
  await writeSnapshot(store, {
    id: newWriterId(systemClock, Math.random),
    covers: new Map([[newWriterId(systemClock, Math.random), Math.ceil(table.size / 1000)]]),
    blocks: table.blocks,
  })
  if (each) for (const entry of table.entries()) each(entry)
  const manifest = openManifest(store, { writer: newWriterId(systemClock, Math.random) })
  for (let i = 0; i < segments; i++) {
    const more = randomEntries(perSegment, random)
    await manifest.append(more)
    if (each) more.forEach(each)
  }
  return segments
}
