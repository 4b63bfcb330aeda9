import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { type Random, seededRandom, systemClock } from '../../src/clock.ts'
import type { ManifestEntry } from '../../src/manifest/entry.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { openStore } from '../../src/store/open.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { inFreshProcess } from './fresh.ts'
import type { BenchReport } from './report.ts'

/** How soon a run that starts again knows what is stored, in how much memory. */

/** What a run has committed since its last compaction: segments, and entries a segment at most. */
const recent = { segments: 50, entriesMax: 1000 }
/** Entries of one append while the snapshot is made. */
const chunk = 50_000

export interface ReplaySizes {
  readonly entries: number
  readonly repeats: number
}

const once = z.strictObject({
  entries: z.number(),
  replaySeconds: z.number(),
  processSeconds: z.number(),
  peakBytes: z.number(),
})
type Once = z.output<typeof once>

export async function benchReplay(
  folder: string,
  { entries, repeats }: ReplaySizes,
  note: (text: string) => void,
): Promise<BenchReport> {
  const root = join(folder, 'manifest-store')
  const url = pathToFileURL(root).href
  await rm(root, { recursive: true, force: true })
  note(`writing a manifest of ${entries} entries`)
  const segments = await writeManifest(await openStore(url), entries)
  const found: Once[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    note(`repeat ${repeat + 1} of ${repeats}`)
    const script = new URL('./replay-once.js', import.meta.url)
    const one = once.parse(await inFreshProcess({ script, args: [url] }))
    if (one.entries !== entries) {
      throw new Error(`replay lost entries. want=${entries}, found=${one.entries}`)
    }
    found.push(one)
  }
  await rm(root, { recursive: true, force: true })
  const each = (of: (one: Once) => number) => found.map(of)
  return {
    bench: 'replay',
    sizes: { entries, segments, repeats },
    method: [
      `Each repeat is a new process that replays one snapshot and ${segments} segments from a`,
      "file:// store, in the page cache. Memory is the process's own peak, Node's included.",
    ],
    figures: [
      {
        name: 'replay',
        unit: 's',
        values: each((one) => one.replaySeconds),
        target: { below: 1 },
      },
      {
        name: 'the same, from the start of the process',
        unit: 's',
        values: each((one) => one.processSeconds),
      },
      {
        name: 'peak resident memory',
        unit: 'MB',
        values: each((one) => one.peakBytes / 1e6),
        target: { below: 300 },
      },
    ],
  }
}

/** A snapshot of most, and segments of the rest. @returns  how many segments */
async function writeManifest(store: ObjectStore, entries: number): Promise<number> {
  const random = seededRandom(0)
  const manifest = openManifest(store, { writer: newWriterId(systemClock, Math.random) })
  const perSegment = Math.min(recent.entriesMax, Math.floor(entries / (2 * recent.segments)))
  const segments = perSegment === 0 ? 0 : recent.segments
  const inSnapshot = entries - segments * perSegment
  for (let left = inSnapshot; left > 0; left -= chunk) {
    await manifest.append(randomEntries(Math.min(chunk, left), random))
  }
  await manifest.compact({ graceMs: 0 })
  // Only now is the snapshot there when it looks, and what it covers may go.
  await manifest.compact({ graceMs: 0 })
  for (let i = 0; i < segments; i++) await manifest.append(randomEntries(perSegment, random))
  return segments
}

/** One in a thousand is quarantined. */
const randomEntries = (count: number, random: Random): ManifestEntry[] =>
  Array.from({ length: count }, () => {
    const bad = random() < 0.001
    const tokens = 1 + Math.floor(random() * 567)
    return {
      hash: [0, 1, 2, 3].map(() => word(random)).join(''),
      key: null,
      offset: 0,
      length: bad ? 0 : 400 + tokens * 40_968,
      tokens,
      crc32: bad ? 0 : Math.floor(random() * 2 ** 32),
      status: bad ? 'quarantined' : 'stored',
      reason: bad ? 'values that are NaN or infinite (layer 33: 4096)' : null,
      attempt: 0,
    }
  })

const word = (random: Random): string =>
  Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
