import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { newWriterId, segmentKey, snapshotKey } from '../../../src/manifest/names.ts'
import { writeSnapshot } from '../../../src/manifest/snapshot.ts'
import { EntryTable } from '../../../src/manifest/table.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type {
  Acknowledgement,
  Body,
  MultipartUpload,
  PutOptions,
} from '../../../src/store/store.ts'
import { contents, manyRows, storedEntry } from './entries.ts'

const random = seededRandom(20261201)
const clock = new SimulatedClock(Date.now())
const writerId = (): string => {
  clock.advance(1)
  return newWriterId(clock, random)
}
const some = (count: number) => Array.from({ length: count }, () => storedEntry(random))
const open = (store: MemoryStore) => openManifest(store, { writer: writerId(), clock, random })

async function keys(store: MemoryStore): Promise<string[]> {
  const found: string[] = []
  for await (const { key } of store.list('manifest/s')) found.push(key)
  return found
}

/** Calls `happen` before each put of a snapshot or of a part of one, and may change the bytes. */
class WatchedStore extends MemoryStore {
  readonly sizes: number[] = []
  happen: (key: string, body: Body) => Promise<Body> = async (_, body) => body

  override async put(key: string, body: Body, options?: PutOptions): Promise<Acknowledgement> {
    return await super.put(key, await this.happen(key, body), options)
  }

  override async startMultipart(key: string): Promise<MultipartUpload> {
    const upload = await super.startMultipart(key)
    return {
      ...upload,
      putPart: async (number, body, options) => {
        this.sizes[number - 1] = body.length
        return await upload.putPart(number, await this.happen(key, body), options)
      },
    }
  }
}

test('snapshot: a big one goes in equal parts, while its table goes on growing', async () => {
  const store = new WatchedStore()
  const table = new EntryTable()
  table.merge(manyRows(340_000, random))
  const before = contents(table)
  store.happen = async (_, body) => {
    table.merge(manyRows(1000, random))
    return body
  }
  const id = writerId()
  const covers = new Map([[writerId(), 340]])
  await writeSnapshot(store, { id, covers, blocks: table.blocks })

  assert.deepEqual(store.sizes.slice(0, -1), [8 << 20, 8 << 20])
  assert.equal(store.sizes.length, 3)
  const found = await open(store).replay()
  assert.ok(found.size >= before.length && found.size <= table.size)
  for (const entry of before) assert.deepEqual(found.get(entry.hash), entry)
})

test('compaction: a commit does not wait for the snapshot that is under way', async () => {
  const store = new WatchedStore()
  const manifest = open(store)
  await manifest.append(some(5))
  const late = some(5)
  let appended = ''
  store.happen = async (key, body) => {
    if (key.startsWith('manifest/snapshots/')) appended = await manifest.append(late)
    return body
  }
  const { snapshot } = await manifest.compact({ graceMs: 60_000 })
  assert.match(appended, /00000001\.arrow$/)
  assert.ok(snapshot)
  // What came meanwhile may be in the snapshot, but is not covered by it: nothing takes it away.
  clock.advance(3_600_000)
  await manifest.compact({ graceMs: 60_000 })
  assert.ok((await keys(store)).includes(appended))
  assert.equal((await open(store).replay()).size, 10)
})

test('compaction: given up, it leaves no snapshot and nothing half sent', async () => {
  const store = new WatchedStore()
  const manifest = open(store)
  await manifest.append(some(5))
  manifest.table.merge(manyRows(340_000, random))
  const stop = new AbortController()
  store.happen = async (_, body) => {
    stop.abort()
    return body
  }
  const compaction = manifest.compact({ graceMs: 0, signal: stop.signal })
  await assert.rejects(compaction, { name: 'AbortError' })
  assert.deepEqual(await store.openMultiparts(''), [])
  assert.equal((await keys(store)).length, 1)
})

test('compaction: what an earlier start left half sent is aborted, and nothing else', async () => {
  const store = new MemoryStore()
  await store.startMultipart(snapshotKey(writerId()))
  const other = await store.startMultipart('dataset/rows.arrow')
  await open(store).abortUnfinished()
  const left = await store.openMultiparts('')
  assert.deepEqual(
    left.map(({ id }) => id),
    [other.id],
  )
})

test('compaction: a snapshot that the store did not keep goes, the segments stay', async () => {
  const store = new WatchedStore()
  const manifest = open(store)
  const entries = some(20)
  const segment = await manifest.append(entries)
  const half = async (key: string, body: Body): Promise<Body> =>
    key.startsWith('manifest/snapshots/') && body instanceof Uint8Array
      ? body.subarray(0, body.length >> 1)
      : body
  // As a store does that knows no checksums.
  const put = store.put.bind(store)
  store.put = async (key, body) => await put(key, await half(key, body))
  await assert.rejects(manifest.compact({ graceMs: 0 }), {
    kind: 'unavailable',
    message: /does not hold the snapshot/,
  })
  assert.deepEqual(await keys(store), [segment])
  assert.equal((await open(store).replay()).size, 20)
})

/** Keeps half of the next bodies, and says that all is well. */
class HalvingStore extends MemoryStore {
  halve = 0

  override async putIfAbsent(key: string, body: Body): Promise<boolean> {
    return await super.putIfAbsent(key, this.#kept(body))
  }

  override async put(key: string, body: Body): Promise<Acknowledgement> {
    return await super.put(key, this.#kept(body))
  }

  #kept(body: Body): Body {
    if (this.halve-- <= 0 || !(body instanceof Uint8Array)) return body
    return body.subarray(0, body.length >> 1)
  }
}

test('manifest: a segment that the store kept in part is put again before it counts', async () => {
  const store = new HalvingStore()
  const manifest = open(store)
  store.halve = 2
  const entries = some(3)
  await manifest.append(entries)
  assert.equal((await open(store).replay()).size, 3)

  store.halve = 3
  const more = some(4)
  const key = segmentKey({ writer: (await keys(store))[0]?.split('/')[2] ?? '', seq: 1 })
  await assert.rejects(manifest.append(more), {
    kind: 'unavailable',
    message: new RegExp(`does not keep a segment as it was put. key=${key}, bytes: want=`),
  })
  assert.equal(manifest.table.size, 3)
  await manifest.append(more)
  assert.equal((await open(store).replay()).size, 7)
})
