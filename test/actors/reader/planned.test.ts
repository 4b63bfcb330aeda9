import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Field, Int64, List, Table, tableToIPC, vectorFromArray } from 'apache-arrow'
import { halves } from '../../../actors/reader/planned.ts'
import type { Batch } from '../../../protocol/sample.ts'
import { firsts, hashOfIds, openCounted, planned, wanted } from '../../support/planned.ts'
import { type Row, rowsFolder } from '../../support/rows.ts'
import { scratch } from '../../support/target-run.ts'

/** Ten rows of their own, of two lengths. */
const ten = Array.from({ length: 10 }, (_, i) => [i, 100 + i, 7, ...(i % 2 ? [8] : [])])
const tenHashes = ten.map(hashOfIds)

const kept = (batches: readonly Batch[]) => batches.reduce((sum, { rows }) => sum + rows.length, 0)

test('reader: int64 rows run, empty and null ones are skipped, all add up (B03)', async (t) => {
  const int64s = new List(new Field('item', new Int64(), true))
  const lists = (rows: (bigint[] | null)[]) => vectorFromArray(rows, int64s)
  const table = new Table({
    id: vectorFromArray([2n ** 53n + 1n, 1n, 2n, 3n], new Int64()),
    input_ids: lists([[1n, 2n, 3n], [4n, 5n], [], [6n]]),
    loss_mask: lists([[0n, 1n, 1n], [0n, 1n], [], null]),
    seq_len: vectorFromArray([3n, 2n, 0n, 1n], new Int64()),
  })
  const path = join(await scratch(t), 'rows.arrow')
  await writeFile(path, tableToIPC(table, 'stream'))
  const { batches } = planned(openCounted(path).dataset)
  const found = firsts(batches)
  assert.deepEqual(
    wanted(found),
    [
      [1, 2, 3],
      [4, 5],
    ]
      .map(hashOfIds)
      .sort(),
  )
  assert.deepEqual(Object.fromEntries(batches.examined.skipped), { empty: 1, 'null row': 1 })
  assert.equal(kept(found) + 2, batches.examined.rows)
  JSON.stringify({ found, examined: batches.examined })
})

test('reader: finished rows are found by what they hold, in any order (B06)', async (t) => {
  const known = tenHashes.slice(0, 6)
  const missing = tenHashes.slice(6).sort()
  for (const rows of [ten, [...ten].reverse()]) {
    const { batches } = planned(openCounted(await rowsFolder(t, rows)).dataset, { known })
    assert.deepEqual(wanted(firsts(batches)), missing)
    assert.equal(batches.examined.found, 6)
    const { quarantined, failed, committed } = batches.outcome({ quarantined: [], failed: [] })
    assert.deepEqual([committed, quarantined, failed], [10, 0, 0])
  }
})

test('reader: what is known is not read again (B07)', async (t) => {
  const { dataset, reads } = openCounted(await rowsFolder(t, ten))
  const { hashes, batches } = planned(dataset, { tokenBudget: 8 })
  const all = firsts(batches)
  assert.equal(reads.length, 10)
  reads.length = 0
  const again = planned(dataset, { tokenBudget: 8, hashes, known: tenHashes })
  assert.deepEqual(firsts(again.batches), [])
  assert.deepEqual(reads, [])
  assert.deepEqual([again.batches.examined.rows, again.batches.examined.found], [10, 10])
  const last = all.at(-1) ?? assert.fail('there are batches')
  const known = tenHashes.filter((hash) => !last.rows.some((row) => row.hash === hash))
  const partly = planned(dataset, { tokenBudget: 8, hashes, known })
  assert.deepEqual(firsts(partly.batches), [last])
  assert.equal(reads.length, last.rows.length)
})

test('reader: rows that are all too long make no batch, and are counted (B08)', async (t) => {
  const rows = Array.from({ length: 10 }, (_, i) => Array.from({ length: 65 }, () => i))
  const { batches } = planned(openCounted(await rowsFolder(t, rows)).dataset, { maxTokens: 64 })
  assert.equal(batches.planned, 0)
  assert.deepEqual(Object.fromEntries(batches.examined.skipped), { 'too long': 10 })
  assert.equal(batches.examined.rows, 10)
  const outcome = batches.outcome({ quarantined: [], failed: [] })
  assert.deepEqual(outcome, { committed: 0, quarantined: 0, failed: 0 })
})

test('reader: a row without a supervised token or beyond the vocabulary is skipped', async (t) => {
  const rows: Row[] = [{ ids: [1, 2], mask: [0, 0] }, [3, 999], [4, 1000], [5, 6]]
  const { batches } = planned(openCounted(await rowsFolder(t, rows)).dataset, { vocab: 1000 })
  assert.deepEqual(
    wanted(firsts(batches)),
    [
      [3, 999],
      [5, 6],
    ]
      .map(hashOfIds)
      .sort(),
  )
  assert.deepEqual(Object.fromEntries(batches.examined.skipped), {
    'no supervised token': 1,
    'token id beyond vocabulary': 1,
  })
})

test('reader: rows that repeat, in one batch or across batches, are one sample', async (t) => {
  const rows = [...ten, ten[0] ?? [], ten[3] ?? [], ...ten]
  for (const tokenBudget of [8, 1000]) {
    const { batches } = planned(openCounted(await rowsFolder(t, rows)).dataset, { tokenBudget })
    const found = firsts(batches)
    assert.deepEqual(wanted(found), [...tenHashes].sort())
    assert.equal(kept(found), 10)
    assert.equal(batches.examined.repeated, 12)
    assert.equal(batches.examined.rows, 22)
  }
})

test('reader: the rows of a batch do not depend on what is stored', async (t) => {
  const rows = [...ten, ...ten.slice(0, 3)]
  const { dataset } = openCounted(await rowsFolder(t, rows))
  const undisturbed = firsts(planned(dataset).batches)
  const bare = ({ id, rows: all, tokenIds }: Batch) => ({
    id,
    rows: all.map(({ row, hash }) => ({ row, hash })),
    tokenIds,
  })
  for (let stored = 1; stored < 10; stored++) {
    const known = tenHashes.slice(0, stored)
    const left = firsts(planned(dataset, { known }).batches)
    for (const batch of left) {
      const before = undisturbed.find(({ id }) => id === batch.id)
      assert.deepEqual(bare(batch), before && bare(before))
      for (const row of batch.rows) assert.equal(row.wanted, !known.includes(row.hash))
    }
    assert.deepEqual(wanted(left), tenHashes.slice(stored).sort())
  }
})

test('reader: token ids lie one row after the other, unpadded', async (t) => {
  const { batches } = planned(openCounted(await rowsFolder(t, ten)).dataset, { tokenBudget: 64 })
  for (const batch of firsts(batches)) {
    const ids = batch.rows.flatMap(({ row }) => ten[row] ?? [])
    assert.deepEqual([...batch.tokenIds], ids)
  }
})

test('reader: only the first rows count where the run is limited', async (t) => {
  const { dataset } = openCounted(await rowsFolder(t, ten))
  const { batches } = planned(dataset, { limit: 4 })
  assert.deepEqual(wanted(firsts(batches)), tenHashes.slice(0, 4).sort())
})

test('reader: what nobody accounts for comes again with its whole batch', async (t) => {
  const { dataset } = openCounted(await rowsFolder(t, ten))
  const { batches } = planned(dataset)
  const all = firsts(batches)
  const known = Buffer.from(tenHashes.slice(1).join(''), 'hex')
  const missing = batches.missing(known.subarray(16), [tenHashes[1] ?? ''])
  assert.deepEqual([...missing.samples], [tenHashes[0]])
  const [again, ...more] = missing.batches.map(({ index }) => batches.again(index, missing.samples))
  assert.deepEqual(more, [])
  assert.deepEqual(wanted(again ? [again] : []), [tenHashes[0]])
  const before = all.find(({ id }) => id === again?.id)
  assert.deepEqual(again?.tokenIds, before?.tokenIds)
  assert.equal(batches.examined.rows, 10, 'nothing is examined twice')
})

test('reader: the outcome counts this dataset alone, of whatever the manifest holds', async (t) => {
  const { batches } = planned(openCounted(await rowsFolder(t, ten)).dataset)
  firsts(batches)
  const quarantined = [tenHashes[2] ?? '', hashOfIds([555])]
  const failed = [tenHashes[3] ?? '', hashOfIds([556])]
  const outcome = batches.outcome({ quarantined, failed })
  assert.deepEqual(outcome, { committed: 8, quarantined: 1, failed: 1 })
})

test('reader: the halves of a batch are the batch, down to single rows', () => {
  const batch: Batch = {
    id: 'b000003',
    rows: [3, 1, 2].map((tokens, row) => ({ row, hash: `${row}`, tokens, wanted: true })),
    tokenIds: Int32Array.of(1, 1, 1, 2, 3, 3),
  }
  const [left, right] = halves(batch)
  assert.deepEqual([left.id, right.id], ['b000003.0', 'b000003.1'])
  assert.deepEqual([...left.rows, ...right.rows], batch.rows)
  assert.deepEqual(
    [[...left.tokenIds], [...right.tokenIds]],
    [
      [1, 1, 1, 2],
      [3, 3],
    ],
  )
  const [first, second] = halves(left)
  assert.deepEqual([first.id, [...first.tokenIds]], ['b000003.0.0', [1, 1, 1]])
  assert.deepEqual([second.id, [...second.tokenIds]], ['b000003.0.1', [2]])
})
