import assert from 'node:assert/strict'
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isUnfit } from '../../../src/feed/open-sample.ts'
import { SampleCache } from '../../../src/feed/sample-cache.ts'
import { SampleReader } from '../../../src/feed/sample-reader.ts'
import { StoreAway } from '../../../src/feed/store-away.ts'
import { entryKey } from '../../../src/manifest/entry.ts'
import { runKey } from '../../../src/run/stored-run.ts'
import { spoolName } from '../../../src/spool/name.ts'
import { freeBytes, openSpool } from '../../../src/spool/spool.ts'
import { FileStore } from '../../../src/store/file.ts'
import { marked } from '../../../src/store/marked.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { rowOf, type StoredSample, sampleOf } from '../../support/feed.ts'
import { silent } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'
import { HastyClock } from '../store/hasty-clock.ts'

const never = new AbortController().signal
const samples = Array.from({ length: 6 }, (_, n) => sampleOf(rowOf(n, 20)))

async function readerOver(t: TestContext, store: ObjectStore, maxBytes: number) {
  const work = await scratch(t)
  const waiting = await openSpool(join(work, 'spool'))
  const start = async (mayGrow = () => true, keepFree = 0) => {
    const parts = { limits: { maxBytes, keepFree }, waiting, mayGrow, log: silent }
    const cache = await SampleCache.open(join(work, 'cache'), parts)
    const reader = new SampleReader({
      format: { captures: 2, captureFinal: false, hidden: 4, dtype: 'bf16' },
      store,
      away: new StoreAway(new HastyClock(), { deadlineMs: 60_000, onChange: () => undefined }),
      spool: { path: (sample) => join(work, 'spool', spoolName(sample)) },
      cache,
    })
    return { cache, reader }
  }
  return { waiting, work, start }
}

const fileName = ({ entry }: StoredSample): string => spoolName({ ...entry, bytes: entry.length })

async function put(store: ObjectStore): Promise<void> {
  for (const { entry, bytes } of samples) await store.put(entryKey(entry), bytes)
}

/** Whose folder goes away amid a get, as an unmounted disk does; missed so often it is back. */
class Unmounted extends FileStore {
  readonly #folder: string
  #misses: number

  constructor(folder: string, misses: number) {
    super(folder)
    this.#folder = folder
    this.#misses = misses
  }

  override async get(key: string, range?: { readonly start: number; readonly end: number }) {
    if (this.#misses > 0) renameSync(this.#folder, this.#away)
    return await super.get(key, range)
  }

  override async head(key: string) {
    const isBack = existsSync(this.#away) && --this.#misses <= 0
    if (isBack) renameSync(this.#away, this.#folder)
    return await super.head(key)
  }

  get #away(): string {
    return `${this.#folder}.away`
  }
}

async function readAll(reader: SampleReader): Promise<void> {
  for (const { entry } of samples) assert.ok(!isUnfit(await reader.read(entry, never)))
}

test('sample reader: what was fetched is kept, up to a bound, and over a restart', async (t) => {
  const store = new FileStore(await scratch(t))
  await put(store)
  const [{ entry }] = samples
  const { work, start } = await readerOver(t, store, entry.length * 4 + 1)
  const first = await start()
  await readAll(first.reader)
  assert.deepEqual(first.reader.counts, { spool: 0, cache: 0, store: 6 })
  await readAll(first.reader)
  assert.deepEqual(first.reader.counts, { spool: 0, cache: 4, store: 8 })
  assert.equal(readdirSync(join(work, 'cache')).length, 4)
  const again = await start()
  assert.equal(again.cache.bytes, entry.length * 4)
  await readAll(again.reader)
  assert.deepEqual(again.reader.counts, { spool: 0, cache: 4, store: 2 })
})

test('sample reader: what is kept and what waits in the spool have one bound', async (t) => {
  const store = new MemoryStore()
  await put(store)
  const [{ entry, bytes }] = samples
  const { start, waiting, work } = await readerOver(t, store, entry.length * 4)
  for (const n of [1, 2, 3]) {
    const hash = `${n}`.repeat(32)
    await waiting.add({ hash, tokens: 1, bytes: entry.length, crc32: 0, parts: [bytes] })
  }
  // All at once: none is written on the strength of room that another was given.
  const { cache, reader } = await start()
  await Promise.all(samples.map((sample) => reader.read(sample.entry, never)))
  assert.equal(cache.bytes, entry.length)
  assert.equal(readdirSync(join(work, 'cache')).length, 1)
})

test('sample reader: nothing is kept while samples are spooled, nor on a full disk', async (t) => {
  const store = new MemoryStore()
  await put(store)
  const { start, work } = await readerOver(t, store, 1e9)
  await readAll((await start(() => false)).reader)
  assert.equal(readdirSync(join(work, 'cache')).length, 0)
  await readAll((await start(() => true, (await freeBytes(work)) * 2)).reader)
  assert.equal(readdirSync(join(work, 'cache')).length, 0)
})

test('sample reader: while the disk of a store is away, no sample is taken for lost', async (t) => {
  const folder = join(await scratch(t), 'store')
  const store = new FileStore(folder)
  await put(store)
  await store.put(runKey, Buffer.from('{}'))
  for (const misses of [2, 3, 7]) {
    const mounted = marked(new Unmounted(folder, misses), runKey)
    const { start } = await readerOver(t, mounted, 0)
    const { reader } = await start()
    await readAll(reader)
    assert.deepEqual(reader.counts, { spool: 0, cache: 0, store: 6 })
  }
})

test('sample reader: a file still in the spool is read there, a torn one is not', async (t) => {
  const store = new MemoryStore()
  await put(store)
  const { work, start } = await readerOver(t, store, 0)
  const [whole, torn] = samples
  writeFileSync(join(work, 'spool', fileName(whole)), whole.bytes)
  writeFileSync(join(work, 'spool', fileName(torn)), torn.bytes.subarray(9))
  const { reader } = await start()
  await readAll(reader)
  assert.deepEqual(reader.counts, { spool: 1, cache: 0, store: 5 })
})

test('sample reader: a damaged file of the cache goes, and is fetched anew', async (t) => {
  const store = new MemoryStore()
  await put(store)
  const { work, start } = await readerOver(t, store, 1e6)
  const { cache, reader } = await start()
  await readAll(reader)
  const bytes = cache.bytes
  writeFileSync(join(work, 'cache', fileName(samples[2])), 'torn')
  await readAll(reader)
  assert.deepEqual(reader.counts, { spool: 0, cache: 5, store: 7 })
  await readAll(reader)
  assert.deepEqual(reader.counts, { spool: 0, cache: 11, store: 7 })
  assert.equal(cache.bytes, bytes)
})

test('sample reader: a part of a larger object is read as such', async (t) => {
  const store = new MemoryStore()
  const key = 'hidden-states/packs/one.safetensors'
  await store.put(key, Buffer.concat(samples.map(({ bytes }) => bytes)))
  const { start } = await readerOver(t, store, 0)
  const { reader } = await start()
  let offset = 0
  for (const { entry } of samples) {
    assert.ok(!isUnfit(await reader.read({ ...entry, key, offset }, never)))
    offset += entry.length
  }
})

test('sample reader: what arrives damaged once may have been the line', async (t) => {
  class Line extends MemoryStore {
    flips = 1
    override async get(key: string, range?: { readonly start: number; readonly end: number }) {
      const bytes = await super.get(key, range)
      if (!bytes || this.flips-- <= 0) return bytes
      const changed = Buffer.from(bytes)
      changed[40] ^= 1
      return changed
    }
  }
  const store = new Line()
  await put(store)
  const { start } = await readerOver(t, store, 0)
  const { reader } = await start()
  await readAll(reader)
  store.flips = 2
  const found = await reader.read(samples[0].entry, never)
  assert.ok(isUnfit(found) && /damaged/.test(found.unfit))
})
