import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { RowHashes } from '../../../src/dataset/row-hashes.ts'
import { RowIndex } from '../../../src/dataset/row-index.ts'
import { openCounted } from '../../support/planned.ts'
import { type Row, rowsFolder } from '../../support/rows.ts'
import { HastyClock } from '../store/hasty-clock.ts'

const hash = (...ids: number[]) => contentHash(Int32Array.from(ids))

async function open(t: TestContext, rows: readonly Row[], count = rows.length) {
  const { dataset, reads } = openCounted(await rowsFolder(t, rows))
  const parts = { lengths: dataset.lengths(), rows: count, clock: new HastyClock() }
  const limits = { vocab: 100, maxTokens: 4 }
  const hashes = new RowHashes(dataset.rows, Buffer.alloc(32))
  const index = () => new RowIndex({ dataset, hashes, limits, ...parts })
  return { index: index(), again: index, hashes, reads }
}

test('row index: a right guess reads its row and no other', async (t) => {
  const { index, reads } = await open(t, [[1, 2], [3], [4, 5]])
  assert.equal(await index.has(hash(3), 1), true)
  assert.deepEqual(reads, [1])
})

test('row index: a wrong guess, or none, costs each row once, in order', async (t) => {
  const { index, reads } = await open(t, [[1, 2], [3], [4, 5]])
  const found = await Promise.all([
    index.has(hash(4, 5), 0),
    index.has(hash(1, 2)),
    index.has(hash(9), 77),
  ])
  assert.deepEqual(found, [true, true, false])
  assert.deepEqual(reads, [0, 1, 2])
})

test('row index: what it has hashed is kept, and read by none that comes after', async (t) => {
  const { index, again, hashes, reads } = await open(t, [[1, 2], [100], [3], [4, 5]])
  assert.equal(await index.has(hash(3), 2), true)
  assert.deepEqual([hashes.known, hashes.get(2)], [1, new Uint8Array(hash(3))])
  assert.equal(await index.has(hash(4, 5)), true)
  assert.deepEqual([hashes.known, reads], [3, [2, 0, 1, 3]])
  const later = again()
  assert.equal(await later.has(hash(1, 2), 3), true)
  assert.equal(await later.has(hash(9)), false)
  // Of a row that is no use there is no hash to keep; of one that is found, its use is looked at.
  assert.deepEqual(reads, [2, 0, 1, 3, 1, 0])
  assert.equal(await later.has(hash(1, 2), 0), true)
  assert.deepEqual(reads, [2, 0, 1, 3, 1, 0])
})

test('row index: a row that an earlier start hashed is none, if it is no use by now', async (t) => {
  const unsupervised = { ids: [7, 8], mask: [0, 0] }
  const { again, hashes } = await open(t, [unsupervised, [100], [6]])
  // Kept when no column of masks was named, and the target knew more tokens.
  hashes.set(0, hash(7, 8))
  hashes.set(1, hash(100))
  hashes.set(2, hash(6))
  for (const guesses of [[], [0, 1, 2]]) {
    const index = again()
    assert.equal(await index.has(hash(7, 8), guesses[0]), false)
    assert.equal(await index.has(hash(100), guesses[1]), false)
    assert.equal(await index.has(hash(6), guesses[2]), true)
  }
})

test('row index: of rows with the same token ids any that is of use will do', async (t) => {
  const unsupervised = { ids: [7, 8], mask: [0, 0] }
  const rows = [unsupervised, { ids: [7, 8], mask: [0, 1] }, unsupervised]
  const { again, hashes } = await open(t, rows)
  for (const row of rows.keys()) hashes.set(row, hash(7, 8))
  assert.equal(await again().has(hash(7, 8), 0), true)
  assert.equal(await again().has(hash(7, 8)), true)
})

test('row index: a known row that is too long now is no row', async (t) => {
  const { again, hashes } = await open(t, [[1, 2, 3, 4, 5]])
  hashes.set(0, hash(1, 2, 3, 4, 5))
  assert.equal(await again().has(hash(1, 2, 3, 4, 5), 0), false)
})

test('row index: rows that are no use, or beyond the limit, are no rows', async (t) => {
  const rows = [[1, 2, 3, 4, 5], [100], { ids: [7, 8], mask: [0, 0] }, [], [6], [9]]
  const { index } = await open(t, rows, 5)
  assert.equal(await index.has(hash(6), 4), true)
  assert.equal(await index.has(hash(1, 2, 3, 4, 5), 0), false)
  assert.equal(await index.has(hash(100), 1), false)
  assert.equal(await index.has(hash(7, 8), 2), false)
  assert.equal(await index.has(hash(9), 5), false)
})
