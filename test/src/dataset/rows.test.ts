/** Rows as they are, or why they are none. */
import assert from 'node:assert/strict'
import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import type { Sample, Unusable } from '../../../src/dataset/open-batch.ts'
import type { Dataset } from '../../../src/dataset/rows.ts'
import { openDataset } from '../../../src/dataset/shards.ts'
import { golden } from '../../support/golden.ts'

const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
const made = (name: string): string => golden('arrow', 'made', name)
const allRows = (dataset: Dataset): (Sample | Unusable)[] =>
  Array.from({ length: dataset.rows }, (_, row) => dataset.read(row))
const sample = (ids: number[], mask: number[] | null): Sample => ({
  ids: Int32Array.from(ids),
  mask: mask && Uint8Array.from(mask),
})

test('rows: int64 ids and masks become plain arrays; null and empty rows say why (B03)', () => {
  const dataset = openDataset(made('b03.arrow'), { columns })
  const rows = allRows(dataset)
  assert.deepEqual(rows, [
    sample([1, 2, 3], [0, 1, 1]),
    sample([4, 5], [0, 1]),
    { unusable: 'empty' },
    { unusable: 'null row' },
  ])
  // A BigInt anywhere would throw.
  assert.equal(JSON.parse(JSON.stringify(rows)).length, 4)
  assert.deepEqual(dataset.lengths(), Int32Array.of(3, 2, 0, 1))
})

test('rows: the wanted columns are found behind columns of every layout', () => {
  for (const name of ['layouts.arrow', 'layouts_v4.arrow']) {
    assert.deepEqual(allRows(openDataset(made(name), { columns })), [
      sample([7, 8], [0, 1]),
      sample([9], [1]),
      sample([10, 11, 12], [0, 0, 1]),
    ])
  }
})

test('rows: ids and masks of every type that can hold them read alike', () => {
  const integers = ['int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64']
  const ids = integers.flatMap((type) => [`ids_${type}`, `ids_large_${type}`])
  const masks = [...integers.map((type) => `mask_${type}`), 'mask_bool', 'mask_large_bool']
  for (const [i, inputIds] of ids.entries()) {
    const lossMask = masks[i % masks.length] ?? null
    const dataset = openDataset(made('items.arrow'), {
      columns: { inputIds, lossMask, seqLen: null },
    })
    const want = [
      sample([1, 2, 3], [0, 1, 1]),
      { unusable: 'null row' },
      { unusable: 'empty' },
      sample([100, 5], [1, 0]),
    ]
    assert.deepEqual(allRows(dataset), want, `${inputIds} ${lossMask}`)
    assert.deepEqual(dataset.lengths(), Int32Array.of(3, -1, 0, 2))
  }
})

test('rows: lists of fixed size are lists', () => {
  const dataset = openDataset(made('items.arrow'), {
    columns: { inputIds: 'ids_of_two', lossMask: null, seqLen: null },
  })
  assert.deepEqual(allRows(dataset), [
    sample([1, 2], null),
    { unusable: 'null row' },
    sample([3, 4], null),
    sample([5, 6], null),
  ])
  assert.deepEqual(dataset.lengths(), Int32Array.of(2, -1, 2, 2))
})

test('rows: what makes a row unusable is named, and the rows beside it stand', () => {
  const want = [
    'null row',
    'null token id',
    'token id out of range',
    'token id out of range',
    'null row',
    'null mask value',
    'lengths differ',
  ].map((unusable) => ({ unusable }))
  for (const cacheBytes of [undefined, 1]) {
    const options = cacheBytes === undefined ? { columns } : { columns, cacheBytes }
    const rows = allRows(openDataset(made('bad_items.arrow'), options))
    assert.deepEqual(rows, [...want, sample([9, 10], [0, 1])])
  }
})

test('rows: reference files of unusable rows give their reasons', () => {
  const unmasked = { ...columns, lossMask: null }
  const reasons = (name: string, names: typeof columns | typeof unmasked) =>
    allRows(openDataset(golden('arrow', name), { columns: names })).map((row) =>
      'unusable' in row ? row.unusable : row.ids.length,
    )
  assert.deepEqual(reasons('null_inside_list.arrow', unmasked), ['null token id', 1])
  assert.deepEqual(reasons('ids_beyond_int32.arrow', unmasked), [
    'token id out of range',
    'token id out of range',
  ])
  assert.deepEqual(reasons('lengths_disagree.arrow', columns), ['lengths differ', 'lengths differ'])
})

test('rows: a thousand random reads equal reading in order, held or not', () => {
  const path = golden('arrow', 'ipc_stream.arrow')
  const inOrder = allRows(openDataset(path, { columns }))
  const seed = 11
  const random = seededRandom(seed)
  for (const cacheBytes of [64 * 2 ** 20, 20_000, 1]) {
    const dataset = openDataset(path, { columns, cacheBytes })
    for (let i = 0; i < 1000; i++) {
      const row = Math.floor(random() * dataset.rows)
      const where = `seed=${seed}, cacheBytes=${cacheBytes}, row=${row}`
      assert.deepEqual(dataset.read(row), inOrder[row], where)
    }
  }
})

test('rows: what is read is the caller’s own, to transfer or to change', () => {
  const dataset = openDataset(golden('arrow', 'shuffled'), { columns })
  const first = dataset.read(3)
  assert.ok(!('unusable' in first))
  const before = Int32Array.from(first.ids)
  assert.equal(first.ids.buffer.byteLength, first.ids.byteLength)
  structuredClone(first.ids, { transfer: [first.ids.buffer] })
  const again = dataset.read(3)
  assert.ok(!('unusable' in again))
  assert.deepEqual(again.ids, before)
})

test('rows: a shard that changed since it was opened is refused, not read on', () => {
  const work = mkdtempSync(join(tmpdir(), 'draftsmith-rows-'))
  try {
    cpSync(golden('arrow', 'shuffled'), work, { recursive: true })
    const dataset = openDataset(work, { columns })
    appendFileSync(join(work, 'data-00000-of-00001.arrow'), 'x')
    assert.throws(() => dataset.read(0), { kind: 'corrupt', message: /changed while in use/ })
    assert.throws(() => dataset.lengths(), { kind: 'corrupt' })
  } finally {
    rmSync(work, { recursive: true })
  }
})

test('rows: a row that is not there is a caller’s mistake', () => {
  const dataset = openDataset(golden('arrow', 'shuffled'), { columns })
  for (const row of [-1, 60, 1.5]) assert.throws(() => dataset.read(row), RangeError)
})
