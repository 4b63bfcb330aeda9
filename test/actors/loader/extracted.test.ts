import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFeed } from '../../../actors/loader/open.ts'
import { train } from '../../../src/config/train-schema.ts'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { fetchDataset } from '../../../src/run/dataset-fetch.ts'
import { requireRun } from '../../../src/run/stored-run.ts'
import { openStore } from '../../../src/store/open.ts'
import { finishedRun } from '../../support/commands/finished-run.ts'
import { folder } from '../../support/commands/golden-job.ts'
import { hidden, qwen3Rows } from '../../support/commands/golden-rows.ts'
import { batchesFrom } from '../../support/feed.ts'
import { silent } from '../../support/ledger-rig.ts'
import { maxAbsDiff, scratch } from '../../support/target-run.ts'

const captures = 5
const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }

test('loader: from a store alone it gives what the run has extracted', async (t) => {
  const { url } = (await finishedRun(folder(t))).copy('alone')
  const store = await openStore(url)
  const work = await scratch(t)
  const { identity } = await requireRun(store)
  const path = await fetchDataset(store, join(work, 'dataset'), () => undefined)
  const input = {
    work,
    store: { url, s3: {} },
    attempts: 3,
    deadlineMinutes: 1,
    dataset: { path, columns },
    limit: null,
    vocab: 1_000_000,
    maxTokens: 512,
    identity,
    train: train.parse({ tokensPerBatch: 256, heldOut: null, epochs: 1 }),
    follows: false,
    cache: null,
  }
  const opened = await openFeed(input, { store, log: silent, onRows: () => undefined })
  const { samples, rows } = await opened.feed.begin('t', null)
  assert.equal(rows.repeated, 0)
  const golden = new Map(qwen3Rows().map((row) => [contentHash(row.ids).toString('hex'), row]))
  let seen = 0
  for (const batch of await batchesFrom(opened)) {
    const { shape, hidden: states, tokenIds } = batch
    for (const [row, { hash, tokens }] of batch.rows.entries()) {
      const from = row * shape.tokens
      const want = golden.get(hash)
      assert.ok(want)
      assert.deepEqual([...tokenIds.subarray(from, from + tokens)].map(Number), [...want.ids])
      const width = captures * hidden
      const found = states.subarray(from * width, (from + tokens) * width)
      assert.ok(maxAbsDiff(found, want.states) <= 2e-4)
      seen++
    }
  }
  assert.deepEqual([seen, opened.leftOut.count], [samples, 0])
  assert.ok(seen > 0 && seen <= golden.size)
})
