/** Readers beside a writer and its compactions, and listings of more than one page. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import type { ManifestEntry } from '../../../src/manifest/entry.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { missingRows } from '../../../src/manifest/missing.ts'
import { newWriterId, segmentKey } from '../../../src/manifest/names.ts'
import { encodeManifest } from '../../../src/manifest/segment.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { contents, manyRows, storedEntry } from './entries.ts'

const clock = new SimulatedClock(Date.now())
const open = (store: MemoryStore, seed: number) => {
  const random = seededRandom(seed)
  clock.advance(1)
  return openManifest(store, { writer: newWriterId(clock, random), clock, random })
}

/** Answers late, some requests later than others, so that they overtake each other. */
class SlowStore extends MemoryStore {
  readonly reads: { readonly key: string; readonly bytes: number }[] = []
  readonly #random = seededRandom(4)

  override async get(key: string, range?: { readonly start: number; readonly end: number }) {
    await this.#wait()
    const found = await super.get(key, range)
    this.reads.push({ key, bytes: found?.length ?? 0 })
    return found
  }

  override async listPage(ask: { readonly prefix: string; readonly from?: string }) {
    await this.#wait()
    return await super.listPage(ask)
  }

  override async remove(key: string): Promise<void> {
    await this.#wait()
    await super.remove(key)
  }

  async #wait(): Promise<void> {
    for (let turns = Math.floor(this.#random() * 4); turns > 0; turns--) await turn()
  }
}

test('manifest: readers follow a writer that compacts, and miss nothing', async () => {
  const random = seededRandom(5)
  const store = new SlowStore({ pageKeys: 7 })
  const writer = open(store, 1)
  const entries: ManifestEntry[] = []
  let done = false
  const write = async () => {
    for (let segment = 0; segment < 120; segment++) {
      const some = Array.from({ length: 3 }, () => storedEntry(random))
      await writer.append(some)
      entries.push(...some)
      clock.advance(10_000)
      // What a snapshot covers goes 15 segments later.
      if (segment % 8 === 7) await writer.compact({ graceMs: 150_000 })
    }
    done = true
  }
  const follow = async (seed: number) => {
    const reader = open(store, seed)
    while (!done) {
      const before = entries.length
      assert.ok((await reader.replay()).size >= before)
      await turn()
    }
    await reader.replay()
    return contents(reader.table)
  }
  const [, ...found] = await Promise.all([write(), follow(2), follow(3)])
  const want = entries.sort((a, b) => (a.hash < b.hash ? -1 : 1))
  for (const table of found) assert.deepEqual(table, want)
})

test('manifest: a follower reads new segments, not all there is in each snapshot', async () => {
  const random = seededRandom(6)
  const store = new SlowStore()
  const writer = open(store, 1)
  const append = async (count: number) =>
    await writer.append(Array.from({ length: count }, () => storedEntry(random)))
  for (let i = 0; i < 10; i++) await append(1000)
  const reader = open(store, 2)
  await reader.replay()
  const next = await append(100)
  await writer.compact({ graceMs: 60_000 })
  store.reads.length = 0
  assert.equal((await reader.replay()).size, 10_100)
  const ofSegments = store.reads.filter(({ key }) => key.startsWith('manifest/segments/'))
  assert.deepEqual(
    ofSegments.map(({ key }) => key),
    [next],
  )
  // Of the snapshot, which is ten times as long, only what it covers.
  const ofSnapshots = store.reads.filter(({ key }) => key.startsWith('manifest/snapshots/'))
  assert.deepEqual(
    ofSnapshots.map(({ bytes }) => bytes),
    [64 << 10],
  )

  // Those that are gone when he looks again are in the snapshot.
  await append(100)
  await writer.compact({ graceMs: 0 })
  clock.advance(3_600_000)
  await writer.compact({ graceMs: 0 })
  assert.equal((await reader.replay()).size, 10_200)
})

for (const count of [999, 1000, 1001, 2500]) {
  test(`manifest: ${count} segments are all seen by who knows nothing (B27)`, async () => {
    const random = seededRandom(count)
    const store = new MemoryStore()
    const writer = newWriterId(clock, random)
    const hashes: Buffer[] = []
    for (let seq = 0; seq < count; seq++) {
      const rows = manyRows(1, random)
      hashes.push(Buffer.from(rows.words.buffer))
      const facts = { kind: 'segment', writer, seq, seen: new Map() } as const
      await store.put(segmentKey({ writer, seq }), encodeManifest([rows], facts))
    }
    const table = await open(store, 9).replay()
    assert.equal(table.stored, count)
    assert.equal(missingRows(Buffer.concat(hashes), table).length, 0)
  })
}
