/** Manifests to test with, by writers under names of their own, on one clock. */
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import type { ManifestEntry } from '../../../src/manifest/entry.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { newWriterId } from '../../../src/manifest/names.ts'
import type { MemoryStore } from '../../../src/store/memory.ts'
import { contents, storedEntry } from './entries.ts'

export const random = seededRandom(20261105)
export const clock = new SimulatedClock(Date.now())
export const writerId = (): string => {
  clock.advance(1)
  return newWriterId(clock, random)
}
export const some = (count: number): ManifestEntry[] =>
  Array.from({ length: count }, () => storedEntry(random))
export const byHash = (entries: readonly ManifestEntry[]): ManifestEntry[] =>
  [...entries].sort((a, b) => (a.hash < b.hash ? -1 : 1))

export const open = (store: MemoryStore, writer = writerId()) =>
  openManifest(store, { writer, clock, random })
export const replayed = async (store: MemoryStore) => contents(await open(store).replay())

/** Segments and snapshots. */
export async function keys(store: MemoryStore, prefix = 'manifest/s'): Promise<string[]> {
  const found: string[] = []
  for await (const { key } of store.list(prefix)) found.push(key)
  return found
}

/** One writer's segments of five entries each, and all their entries. */
export async function written(store: MemoryStore, segments: number, writer = writerId()) {
  const manifest = open(store, writer)
  await manifest.replay()
  const entries = some(segments * 5)
  for (let i = 0; i < segments; i++) await manifest.append(entries.slice(i * 5, i * 5 + 5))
  await manifest.noted()
  return { manifest, writer, entries: byHash(entries) }
}
