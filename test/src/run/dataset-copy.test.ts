import assert from 'node:assert/strict'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { datasetFingerprint } from '../../../src/dataset/fingerprint.ts'
import { openDataset } from '../../../src/dataset/shards.ts'
import { publishDataset } from '../../../src/run/dataset-copy.ts'
import { fetchDataset } from '../../../src/run/dataset-fetch.ts'
import { FileStore } from '../../../src/store/file.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Acknowledgement, Body, PutOptions } from '../../../src/store/store.ts'
import { writeRows } from '../../support/rows.ts'
import { scratch } from '../../support/target-run.ts'

const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
const quiet = { progress: () => undefined }
const indexKey = 'dataset/index.json'

class Counting extends MemoryStore {
  readonly puts: string[] = []

  override async put(key: string, body: Body, options?: PutOptions): Promise<Acknowledgement> {
    this.puts.push(key)
    return await super.put(key, body, options)
  }
}

function copyOf(path: string) {
  const dataset = openDataset(path, { columns })
  const fingerprint = datasetFingerprint(dataset, dataset.lengths(), 'input_ids').toString('hex')
  return { fingerprint, entry: dataset.entry, files: dataset.files() }
}

const indexOf = async (store: MemoryStore): Promise<Record<string, unknown>> =>
  JSON.parse(String(await store.get(indexKey)))

const rowsOf = (path: string): string[] => {
  const dataset = openDataset(path, { columns })
  return Array.from({ length: dataset.rows }, (_, row) => JSON.stringify(dataset.read(row)))
}

async function published(t: TestContext, store: MemoryStore, rows: readonly number[][]) {
  const path = join(await scratch(t), 'dataset')
  await writeRows(path, rows, { shards: 2 })
  const progress: string[] = []
  const sent = await publishDataset(store, copyOf(path), {
    progress: (done) => progress.push(done.path),
  })
  return { path, sent, progress }
}

const rows = [
  [1, 2, 3],
  [4, 5],
  [6, 7, 8, 9],
]

test('dataset copy: what comes back is the dataset; nothing is fetched twice', async (t) => {
  const store = new Counting()
  const { path, sent, progress } = await published(t, store, rows)
  assert.ok(sent)
  assert.equal(progress.length, 4)
  assert.equal(store.puts.at(-1), indexKey)
  const dir = join(await scratch(t), 'fetched')
  const opened = await fetchDataset(store, dir, () => undefined)
  assert.deepEqual(rowsOf(opened), rowsOf(path))
  assert.equal(copyOf(opened).fingerprint, copyOf(path).fingerprint)
  for (const key of store.puts) if (key.endsWith('.arrow')) await store.remove(key)
  assert.equal(await fetchDataset(store, dir, () => undefined), opened)
})

test('dataset copy: a single Arrow file comes back under its name', async (t) => {
  const store = new MemoryStore()
  const dir = join(await scratch(t), 'dataset')
  await writeRows(dir, rows, { shards: 1 })
  const file = join(dir, 'data-00000-of-00001.arrow')
  await publishDataset(store, copyOf(file), quiet)
  const opened = await fetchDataset(store, await scratch(t), () => undefined)
  assert.deepEqual(rowsOf(opened), rowsOf(file))
})

test('dataset copy: published a second time, nothing is sent', async (t) => {
  const store = new Counting()
  await published(t, store, rows)
  const before = store.puts.length
  const { sent, progress } = await published(t, store, rows)
  assert.equal(sent, false)
  assert.deepEqual(progress, [])
  assert.equal(store.puts.length, before)
})

test('dataset copy: what the store lost of it since is sent again', async (t) => {
  const store = new Counting()
  const { path } = await published(t, store, rows)
  const [first, second] = [0, 1].map((shard) => `dataset/data-0000${shard}-of-00002.arrow`)
  assert.ok(first !== undefined && second !== undefined)
  await store.remove(first)
  store.puts.length = 0
  assert.ok(await publishDataset(store, copyOf(path), quiet))
  assert.deepEqual(store.puts, [first, indexKey])
  // Of the same length, with another checksum.
  const bytes = await readFile(join(path, 'data-00001-of-00002.arrow'))
  bytes[bytes.length - 9] = (bytes[bytes.length - 9] ?? 0) ^ 1
  await store.put(second, bytes)
  store.puts.length = 0
  assert.ok(await publishDataset(store, copyOf(path), quiet))
  assert.deepEqual(store.puts, [second, indexKey])
  const opened = await fetchDataset(store, await scratch(t), () => undefined)
  assert.deepEqual(rowsOf(opened), rowsOf(path))
})

test('dataset copy: an index of which half arrived is sent again', async (t) => {
  class Halving extends Counting {
    override async put(key: string, body: Body, options?: PutOptions): Promise<Acknowledgement> {
      const isFirst = key === indexKey && !this.puts.includes(indexKey)
      if (!isFirst || !(body instanceof Uint8Array)) return await super.put(key, body, options)
      await super.put(key, body.subarray(0, body.length >> 1))
      return {}
    }
  }
  const store = new Halving()
  const { path } = await published(t, store, rows)
  assert.equal(store.puts.filter((key) => key === indexKey).length, 2)
  assert.equal((await indexOf(store)).fingerprint, copyOf(path).fingerprint)
})

test('dataset copy: cut short before its index, only what is missing is sent', async (t) => {
  const store = new Counting()
  const { path } = await published(t, store, rows)
  await store.remove(indexKey)
  await store.remove('dataset/data-00001-of-00002.arrow')
  store.puts.length = 0
  await publishDataset(store, copyOf(path), quiet)
  assert.deepEqual(store.puts, ['dataset/data-00001-of-00002.arrow', indexKey])
})

test('dataset copy: what a store without checksums holds is compared, not resent', async (t) => {
  const at = join(await scratch(t), 'store')
  const path = join(await scratch(t), 'dataset')
  await writeRows(path, rows, { shards: 2 })
  await publishDataset(new FileStore(at), copyOf(path), quiet)
  const store = new FileStore(at)
  await store.remove(indexKey)
  const file = join(at, 'dataset', 'data-00000-of-00002.arrow')
  const before = await stat(file)
  const confirmedBy: string[] = []
  await publishDataset(store, copyOf(path), {
    progress: (done) => confirmedBy.push(done.confirmedBy),
  })
  assert.deepEqual(new Set(confirmedBy), new Set(['etag']))
  assert.equal((await stat(file)).ino, before.ino)
})

test('dataset copy: told to stop in mid-upload, it ends with no upload open', async (t) => {
  const store = new MemoryStore()
  const path = join(await scratch(t), 'dataset')
  await writeRows(path, rows, { shards: 1 })
  const stopping = new AbortController()
  const start = store.startMultipart.bind(store)
  store.startMultipart = async (key) => {
    const upload = await start(key)
    stopping.abort(new Error('stopped'))
    return upload
  }
  const sizes = { wholeBytesMax: 100, partBytes: 100 }
  const publishing = publishDataset(store, copyOf(path), {
    ...quiet,
    sizes,
    signal: stopping.signal,
  })
  await assert.rejects(publishing, { message: 'stopped' })
  assert.deepEqual(await store.openMultiparts(''), [])
  assert.equal(await store.head(indexKey), undefined)
})

test('dataset copy: one that changed is sent anew, and no index vouches meanwhile', async (t) => {
  const indexes: boolean[] = []
  class Watching extends Counting {
    override async put(key: string, body: Body, options?: PutOptions): Promise<Acknowledgement> {
      indexes.push((await this.head(indexKey)) !== undefined)
      return await super.put(key, body, options)
    }
  }
  const store = new Watching()
  await published(t, store, rows)
  indexes.length = 0
  const { path, sent } = await published(t, store, [...rows, [10, 11]])
  assert.ok(sent)
  assert.ok(indexes.length > 0 && !indexes.includes(true))
  const opened = await fetchDataset(store, await scratch(t), () => undefined)
  assert.deepEqual(rowsOf(opened), rowsOf(path))
})

test('dataset copy: a damaged index stops a fetch, and a publication mends it', async (t) => {
  const store = new Counting()
  const { path } = await published(t, store, rows)
  await store.put(indexKey, Buffer.from('{"format": 1, "fing'))
  await assert.rejects(
    fetchDataset(store, await scratch(t), () => undefined),
    { kind: 'corrupt', message: /key=dataset\/index.json/ },
  )
  assert.ok(await publishDataset(store, copyOf(path), quiet))
  assert.equal((await indexOf(store)).fingerprint, copyOf(path).fingerprint)
})

test('dataset copy: an index may name no file outside its folder', async (t) => {
  const store = new MemoryStore()
  await published(t, store, rows)
  const index = await indexOf(store)
  for (const path of ['../x', '/etc/x', 'a/../../x', 'a//x', 'a\\..\\x', 'x\0y']) {
    const bad = { ...index, files: [{ path, bytes: 1, crc32: 1 }] }
    await store.put(indexKey, Buffer.from(JSON.stringify(bad)))
    const dir = await scratch(t)
    await assert.rejects(
      fetchDataset(store, dir, () => undefined),
      { kind: 'corrupt' },
      path,
    )
    await store.put(indexKey, Buffer.from(JSON.stringify({ ...index, entry: path })))
    await assert.rejects(
      fetchDataset(store, dir, () => undefined),
      { kind: 'corrupt' },
      path,
    )
  }
})

test('dataset copy: a file that is missing or differs is named, and not kept', async (t) => {
  const store = new MemoryStore()
  const { path } = await published(t, store, rows)
  const key = 'dataset/data-00000-of-00002.arrow'
  const bytes = await readFile(join(path, 'data-00000-of-00002.arrow'))
  bytes[bytes.length - 9] = (bytes[bytes.length - 9] ?? 0) ^ 1
  await store.put(key, bytes)
  const dir = await scratch(t)
  const fetch = () => fetchDataset(store, dir, () => undefined)
  await assert.rejects(fetch(), { kind: 'corrupt', message: new RegExp(`${key}, want=.*found=`) })
  await assert.rejects(readFile(join(dir, 'data-00000-of-00002.arrow')), { code: 'ENOENT' })
  await store.remove(key)
  await assert.rejects(fetch(), { kind: 'corrupt', message: /is not in the store/ })
})

test('dataset copy: a file that arrives damaged once is fetched once more', async (t) => {
  class Flipping extends MemoryStore {
    times = 1
    override async get(key: string, range?: { readonly start: number; readonly end: number }) {
      const bytes = await super.get(key, range)
      if (bytes && key.endsWith('.arrow') && this.times-- > 0) bytes[0] = (bytes[0] ?? 0) ^ 1
      return bytes
    }
  }
  const store = new Flipping()
  const { path } = await published(t, store, rows)
  const dir = await scratch(t)
  assert.deepEqual(rowsOf(await fetchDataset(store, dir, () => undefined)), rowsOf(path))
})

test('dataset copy: a local file that was cut is fetched again', async (t) => {
  const store = new MemoryStore()
  const { path } = await published(t, store, rows)
  const dir = await scratch(t)
  await fetchDataset(store, dir, () => undefined)
  await writeFile(join(dir, 'data-00001-of-00002.arrow'), 'cut')
  await rm(join(dir, 'state.json'))
  assert.deepEqual(rowsOf(await fetchDataset(store, dir, () => undefined)), rowsOf(path))
})

test('dataset copy: a store without one says that the run never came so far', async (t) => {
  await assert.rejects(
    fetchDataset(new MemoryStore(), await scratch(t), () => undefined),
    { kind: 'invalid', message: /holds no dataset. store=memory:/ },
  )
})
