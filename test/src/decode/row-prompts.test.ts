import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { RowHashes } from '../../../src/dataset/row-hashes.ts'
import { openDataset } from '../../../src/dataset/shards.ts'
import { promptsOfRows } from '../../../src/decode/row-prompts.ts'
import { type Row, rowsFolder } from '../../support/rows.ts'

const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
const limits = { vocab: 100, maxTokens: 50 }
const hashOf = (ids: readonly number[]) => contentHash(Int32Array.from(ids)).toString('hex')

const rows: Row[] = [
  { ids: [1, 2, 3, 4], mask: [0, 0, 0, 1] },
  { ids: [5, 6, 7], mask: [0, 1, 0] },
  { ids: [8, 9], mask: [1, 1] },
  { ids: [1, 2, 3, 4], mask: [0, 0, 1, 0] },
  { ids: [10, 11, 12], mask: [0, 0, 0] },
  { ids: [13, 14], mask: [0, 1] },
]

test('row prompts: what stands before the first token that some row trains on', async (t) => {
  const dataset = openDataset(await rowsFolder(t, rows), { split: null, columns })
  const hashes = new RowHashes(dataset.rows, new Uint8Array(32))
  const wanted = { dataset, hashes, limits, isWanted: () => true, limit: 100, promptMax: 9 }
  const all = [[1, 2], [5], [13]]
  const inOrder = (prompts: number[][]) => prompts.toSorted(([a], [b]) => a - b)
  const found = promptsOfRows(wanted)
  assert.deepEqual(inOrder(found), all)
  const isWanted = (hash: string) => hash !== hashOf([5, 6, 7])
  assert.deepEqual(inOrder(promptsOfRows({ ...wanted, isWanted })), [[1, 2], [13]])
  assert.deepEqual(inOrder(promptsOfRows({ ...wanted, promptMax: 1 })), [[5], [13]])
  // A hash that is known is taken at its word, and stands for its row.
  for (const [row, list] of rows.entries()) {
    hashes.set(row, contentHash(Int32Array.from('ids' in list ? list.ids : list)))
  }
  assert.deepEqual(promptsOfRows(wanted), found)
})

test('row prompts: a few are the same ones however the rows stand', async (t) => {
  const open = async (list: Row[]) => {
    const dataset = openDataset(await rowsFolder(t, list), { split: null, columns })
    const hashes = new RowHashes(dataset.rows, new Uint8Array(32))
    return promptsOfRows({ dataset, hashes, limits, isWanted: () => true, limit: 2, promptMax: 9 })
  }
  const few = await open(rows)
  assert.equal(few.length, 2)
  assert.deepEqual(await open(rows.toReversed()), few)
})
