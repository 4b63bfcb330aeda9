import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../../src/failure.ts'
import { segmentKey, snapshotKey } from '../../../src/manifest/names.ts'
import { encodeManifest } from '../../../src/manifest/segment.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Body, ObjectInfo, PutOptions } from '../../../src/store/store.ts'
import { contents, manyRows, quarantinedEntry, storedEntry } from './entries.ts'
import { byHash, clock, keys, open, random, replayed, some, writerId, written } from './writers.ts'

test('manifest: a store without one is an empty table', async () => {
  assert.equal((await open(new MemoryStore()).replay()).size, 0)
})

test('manifest: what was appended is there after a restart, and in the table at once', async () => {
  const store = new MemoryStore({ pageKeys: 2 })
  const { manifest, writer, entries } = await written(store, 5)
  assert.deepEqual(contents(manifest.table), entries)
  assert.equal(manifest.appended, 5)
  assert.deepEqual(await replayed(store), entries)
  assert.deepEqual(
    await keys(store),
    [0, 1, 2, 3, 4].map((seq) => segmentKey({ writer, seq })),
  )
})

test('manifest: two writers, one union', async () => {
  const store = new MemoryStore()
  const [a, b] = [open(store), open(store)]
  await Promise.all([a.replay(), b.replay()])
  const shared = storedEntry(random, { crc32: 9 })
  const smaller = { ...shared, crc32: 8 }
  const failed = quarantinedEntry(random, { hash: shared.hash })
  await Promise.all([a.append([...some(3), shared]), b.append([failed]), b.append([smaller])])
  await Promise.all([a.replay(), b.replay()])
  assert.deepEqual(contents(a.table), contents(b.table))
  assert.equal(a.table.size, 4)
  assert.deepEqual(a.table.get(shared.hash), smaller)
})

test('manifest: appends that come at once are written one after the other', async () => {
  const store = new MemoryStore()
  const manifest = open(store)
  const entries = some(20)
  const segments = await Promise.all(entries.map((entry) => manifest.append([entry])))
  assert.equal(new Set(segments).size, 20)
  assert.deepEqual(segments, await keys(store))
  assert.deepEqual(await replayed(store), byHash(entries))
})

/** Loses the answers of the next puts, with or without having taken the bytes. */
class LossyStore extends MemoryStore {
  readonly lose: ('before' | 'after')[] = []

  override async putIfAbsent(key: string, body: Body, options?: PutOptions): Promise<boolean> {
    const lost = this.lose.shift()
    if (lost !== 'before') {
      const fresh = await super.putIfAbsent(key, body, options)
      if (lost === undefined) return fresh
    }
    throw new Failure('unavailable', 'answer lost')
  }
}

for (const lost of ['before', 'after'] as const) {
  test(`manifest: an answer lost ${lost} the put leaves no gap and no second line`, async () => {
    const store = new LossyStore()
    const manifest = open(store)
    await manifest.append(some(1))
    const again = some(2)
    store.lose.push(lost, lost)
    await assert.rejects(manifest.append(again), { kind: 'unavailable' })
    await assert.rejects(manifest.append(again), { kind: 'unavailable' })
    await manifest.append(again)
    assert.equal((await keys(store)).length, 2)

    store.lose.push(lost)
    await assert.rejects(manifest.append(some(3)), { kind: 'unavailable' })
    await manifest.append(some(4))
    assert.equal((await keys(store)).length, 4)
    assert.equal((await replayed(store)).length, 1 + 2 + 3 + 4)
  })
}

test('manifest: another under the same name is told, not overwritten', async () => {
  const store = new MemoryStore()
  const writer = writerId()
  await open(store, writer).append(some(1))
  await assert.rejects(open(store, writer).append(some(1)), { kind: 'superseded' })
})

test('compaction: one snapshot holds all; segments go only after the grace', async () => {
  const store = new MemoryStore()
  const { manifest, entries } = await written(store, 4)
  const first = await manifest.compact({ graceMs: 60_000 })
  assert.ok(first.snapshot)
  assert.equal(first.removed, 0)
  assert.equal((await keys(store, 'manifest/segments/')).length, 4)
  assert.deepEqual(await replayed(store), entries)

  assert.deepEqual(await manifest.compact({ graceMs: 60_000 }), { snapshot: undefined, removed: 0 })
  clock.advance(3_600_000)
  assert.deepEqual(await manifest.compact({ graceMs: 60_000 }), { snapshot: undefined, removed: 4 })
  assert.deepEqual(await keys(store), [first.snapshot])
  assert.deepEqual(await replayed(store), entries)

  // The same writer goes on: its later segments are no gap, and a second snapshot replaces the
  // first.
  const more = some(5)
  await manifest.append(more)
  assert.deepEqual(await replayed(store), byHash([...entries, ...more]))
  clock.advance(10)
  const second = await manifest.compact({ graceMs: 0 })
  clock.advance(3_600_000)
  await manifest.compact({ graceMs: 60_000 })
  assert.deepEqual(await keys(store), [second.snapshot])
  assert.deepEqual(await replayed(store), byHash([...entries, ...more]))
})

test('compaction: a start that has read everything anew may remove, too', async () => {
  const store = new MemoryStore()
  const { manifest, entries } = await written(store, 4)
  const { snapshot } = await manifest.compact({ graceMs: 60_000 })
  clock.advance(3_600_000)
  const next = await open(store).compact({ graceMs: 60_000 })
  assert.deepEqual(next, { snapshot: undefined, removed: 4 })
  assert.deepEqual(await keys(store), [snapshot])
  assert.deepEqual(await replayed(store), entries)
})

test('compaction: two at once leave everything readable, and one snapshot in the end', async () => {
  const store = new MemoryStore()
  const { entries } = await written(store, 4)
  const [a, b] = [open(store), open(store)]
  await Promise.all([a.compact({ graceMs: 0 }), b.compact({ graceMs: 0 })])
  assert.deepEqual(await replayed(store), entries)
  clock.advance(1000)
  await Promise.all([a.compact({ graceMs: 0 }), b.compact({ graceMs: 0 })])
  assert.deepEqual(await replayed(store), entries)
  await open(store).compact({ graceMs: 0 })
  assert.equal((await keys(store)).length, 1)
})

test('compaction: nothing is removed on the word of a snapshot not read whole', async () => {
  const store = new MemoryStore()
  const { manifest, entries, writer } = await written(store, 2)
  // Another's snapshot of the same segments, unreadable behind its header.
  const id = writerId()
  const covers = new Map([[writer, 2]])
  const bytes = encodeManifest([manyRows(10, random)], { kind: 'snapshot', id, covers })
  bytes.fill(0, bytes.length - 200, bytes.length - 8)
  await store.put(snapshotKey(id), bytes)
  await assert.rejects(open(store).replay(), { kind: 'corrupt', message: new RegExp(id) })

  // The writer itself need not read it: it has all the entries, and writes a snapshot of its own.
  clock.advance(1000)
  const own = await manifest.compact({ graceMs: 0 })
  assert.equal(own.removed, 0)
  clock.advance(1000)
  await manifest.compact({ graceMs: 0 })
  assert.deepEqual(await keys(store), [own.snapshot])
  assert.deepEqual(await replayed(store), entries)
})

/** Lets something happen between a listing and the first read after it. */
class InterruptedStore extends MemoryStore {
  between: (() => Promise<void>) | undefined

  override async get(
    key: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<Buffer | undefined> {
    const happen = this.between
    this.between = undefined
    await happen?.()
    return super.get(key, range)
  }
}

test('compaction: a reader whose files are taken away lists again, misses nothing', async () => {
  const store = new InterruptedStore()
  const { manifest, entries } = await written(store, 20)
  const reader = open(store)
  store.between = async () => {
    await manifest.compact({ graceMs: 0 })
    clock.advance(10)
    assert.equal((await manifest.compact({ graceMs: 0 })).removed, 20)
  }
  assert.deepEqual(contents(await reader.replay()), entries)
})

/** Lists no more than the first segment the first time, as if the others came between its pages. */
class LateStore extends MemoryStore {
  hide: string | undefined

  override async *list(prefix: string): AsyncIterable<ObjectInfo> {
    const hidden = this.hide
    this.hide = undefined
    for await (const info of super.list(prefix)) if (info.key !== hidden) yield info
  }
}

test('manifest: a segment that a listing missed is looked for before it is missed', async () => {
  const store = new LateStore()
  const { writer, entries } = await written(store, 3)
  store.hide = segmentKey({ writer, seq: 1 })
  assert.deepEqual(await replayed(store), entries)
})

test('manifest: a snapshot too big for one request is read in parts, then segments', async () => {
  const store = new MemoryStore()
  const writer = writerId()
  const rows = manyRows(90_000, random)
  const twice = [rows, manyRows(90_000, random)]
  const id = writerId()
  const covers = new Map([[writer, 3]])
  await store.put(snapshotKey(id), encodeManifest(twice, { kind: 'snapshot', id, covers }))
  assert.ok(((await store.head(snapshotKey(id)))?.size ?? 0) > 8 << 20)
  const seq = 3
  await store.put(
    segmentKey({ writer, seq }),
    encodeManifest([manyRows(7, random)], { kind: 'segment', writer, seq, seen: new Map() }),
  )
  const table = await open(store).replay()
  assert.equal(table.size, 180_007)
})
