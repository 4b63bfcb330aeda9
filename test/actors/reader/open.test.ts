import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import type { ReaderInput } from '../../../actors/reader/index.ts'
import { type OpenedDataset, openPlanned } from '../../../actors/reader/open.ts'
import { rowHashesFile, rowHashesKey } from '../../../src/dataset/row-hashes.ts'
import { keepRowHashes } from '../../../src/run/kept-hashes.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { silent } from '../../support/ledger-rig.ts'
import { firsts, hashOfIds } from '../../support/planned.ts'
import { rowsFolder } from '../../support/rows.ts'
import { scratch } from '../../support/target-run.ts'

const rows = [
  [1, 2, 3],
  [4, 5, 6, 7],
  [1, 2, 3],
]

async function inputOf(t: TestContext, limit: number | null = null): Promise<ReaderInput> {
  return {
    dataset: {
      path: await rowsFolder(t, rows),
      columns: { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' },
    },
    plan: { tokenBudget: 64, maxTokens: 64, outputBytesMax: 1e9, limit, seed: 0 },
    vocab: 100,
    outputBytesPerToken: 10,
    work: await scratch(t),
    store: { url: 'memory:', s3: {} },
    attempts: 1,
  }
}

/** Reads every row, and saves what was gathered. */
async function readAll(opened: OpenedDataset, { work }: ReaderInput, store: ObjectStore) {
  const saved = keepRowHashes(opened.hashes, { work, store, log: silent })
  firsts(opened.batches(new Uint8Array(0)))
  await saved.now()
}

test('reader: it opens with the rows and tokens of its plan, the limit heeded', async (t) => {
  const whole = await openPlanned(await inputOf(t), { store: new MemoryStore(), log: silent })
  assert.deepEqual([whole.rows, whole.tokens], [3, 10])
  const part = await openPlanned(await inputOf(t, 2), { store: new MemoryStore(), log: silent })
  assert.deepEqual([part.rows, part.tokens], [2, 7])
})

test('reader: row hashes are found on this machine, in the store, or made anew', async (t) => {
  const input = await inputOf(t)
  const store = new MemoryStore()
  const first = await openPlanned(input, { store, log: silent })
  assert.equal(first.hashes.known, 0)
  await readAll(first, input, store)
  assert.equal(first.hashes.known, 3)

  const here = await openPlanned(input, { store: new MemoryStore(), log: silent })
  assert.equal(here.hashes.known, 3)
  const known = Buffer.from(
    [
      [1, 2, 3],
      [4, 5, 6, 7],
    ]
      .map(hashOfIds)
      .join(''),
    'hex',
  )
  assert.deepEqual(firsts(here.batches(known)), [])

  await rm(rowHashesFile(input.work))
  const elsewhere = await openPlanned(input, { store, log: silent })
  assert.equal(elsewhere.hashes.known, 3)
})

test('reader: row hashes that are damaged, or of other rows, are not used', async (t) => {
  const input = await inputOf(t)
  const store = new MemoryStore()
  const first = await openPlanned(input, { store, log: silent })
  await readAll(first, input, store)
  const file = rowHashesFile(input.work)
  const bytes = await readFile(file)
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
  await writeFile(file, bytes)
  await store.put(rowHashesKey, bytes)
  assert.equal((await openPlanned(input, { store, log: silent })).hashes.known, 0)
  const other = {
    ...input,
    dataset: { ...input.dataset, path: await rowsFolder(t, [[9], [8], [7]]) },
  }
  first.hashes.save(file)
  assert.equal(
    (await openPlanned(other, { store: new MemoryStore(), log: silent })).hashes.known,
    0,
  )
})
