/** The library by itself: from a dataset to a manifest with the names of src/index.ts alone. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as library from '../../src/index.ts'
import { golden } from '../support/golden.ts'
import { scratch } from '../support/target-run.ts'

const captures: library.Captures = { layers: [1, 2], captureFinal: false, dtype: 'bf16' }
const rows = [[1, 2, 3], [5, 4, 3, 2], [7], [1, 2, 3]].map((ids) => ({
  inputIds: Int32Array.from(ids),
  lossMask: new Uint8Array(ids.length).fill(1),
}))

/** The hidden states of one sample as the parts of a file. */
async function openExtractor(t: TestContext, target: library.Target) {
  const graph = library.hiddenStatesGraph(target, captures)
  const model = await library.prepareModel(graph, await scratch(t), () => {})
  const session = await library.openSession(model, { device: 'cpu', threads: 1 })
  t.after(() => session.release())
  return async (ids: Int32Array): Promise<Uint8Array[]> => {
    const data = BigInt64Array.from(ids, BigInt)
    const found = await session.run({ input_ids: { dtype: 'I64', shape: [1, ids.length], data } })
    const tensors = library.captureNames(captures).map((name): library.TensorToWrite => {
      const { buffer } = found[name].data
      return {
        name,
        dtype: 'BF16',
        shape: [ids.length, target.hiddenSize],
        data: new Uint8Array(buffer),
      }
    })
    return library.encodeSafetensors(tensors)
  }
}

async function spoolAll(t: TestContext, dataset: library.Dataset, spool: library.Spool) {
  const target = await library.openTarget(golden('targets', 'qwen3_tied_bf16'))
  const extract = await openExtractor(t, target)
  const plan = library.planBatches(dataset.lengths(), {
    tokenBudget: 8,
    maxTokens: 100,
    outputBytesPerToken: captures.layers.length * target.hiddenSize * 2,
    outputBytesMax: 1e6,
    seed: 1,
    limit: null,
  })
  assert.equal(plan.rowsPlanned, rows.length)
  for (let batch = 0; batch < plan.batches; batch++) {
    for (const row of plan.rows(batch)) {
      const limits = { vocab: target.vocabSize, maxTokens: 100 }
      const sample = library.usable(dataset.read(row), limits)
      assert.ok(!('unusable' in sample))
      const parts = await extract(sample.ids)
      await spool.add({
        hash: library.contentHash(sample.ids).toString('hex'),
        tokens: sample.ids.length,
        bytes: parts.reduce((sum, part) => sum + part.length, 0),
        crc32: library.crc32OfParts(parts),
        parts,
      })
    }
  }
}

async function storeAll(spool: library.Spool, store: library.ObjectStore): Promise<void> {
  const { good } = await library.recoverSpool(spool)
  const entries: library.ManifestEntry[] = []
  for (const sample of good) {
    const key = library.sampleKey(sample.hash, sample.crc32)
    const { crc32, bytes: size } = sample
    const body = { path: spool.path(sample), offset: 0, length: size }
    assert.equal(await library.putFile(store, { key, body, crc32 }), 'checksum')
    const { hash, tokens } = sample
    const object = { hash, tokens, crc32, key: null, offset: 0, length: size }
    entries.push({ ...object, status: 'stored', reason: null, attempt: 0 })
  }
  await openManifest(store, 1).append(entries)
  for (const sample of good) await spool.remove(sample)
}

/** As the start of that number. */
const openManifest = (store: library.ObjectStore, start: number): library.Manifest => {
  const random = library.seededRandom(start)
  return library.openManifest(store, { writer: library.newWriterId(library.systemClock, random) })
}

test('library: from a dataset to a manifest, by the names that it offers', async (t) => {
  const work = await scratch(t)
  const path = join(work, 'dataset')
  await library.writeDataset(path, { rows, count: rows.length, shards: 1 })
  const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
  const dataset = library.openDataset(path, { columns })
  const spool = await library.openSpool(join(work, 'spool'))
  await spoolAll(t, dataset, spool)
  const store = new library.MemoryStore()
  await storeAll(spool, store)

  // Another start reads what the first has written: each sample once, though two rows share one.
  const table = await openManifest(store, 2).replay()
  assert.equal(table.size, 3)
  const hashes = Buffer.concat(rows.map(({ inputIds }) => library.contentHash(inputIds)))
  assert.deepEqual([...library.missingRows(hashes, table)], [])
  for (const { hash, crc32, tokens } of table.entries()) {
    const bytes = await store.get(library.sampleKey(hash, crc32))
    const { tensors } = library.readSafetensors(bytes ?? Buffer.alloc(0), hash)
    const layer = tensors.get('layer_2')
    assert.ok(layer)
    const states = library.float32Elements(layer)
    assert.deepEqual([layer.shape[0], states.every(Number.isFinite)], [tokens, true])
  }
  assert.deepEqual((await spool.list()).samples, [])
})
