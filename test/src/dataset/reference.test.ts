/** Every reference dataset gives the rows that its own writer says it holds. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { openDataset } from '../../../src/dataset/shards.ts'
import { golden } from '../../support/golden.ts'
import { needsShared } from '../../support/needs.ts'

const facts = z.object({
  rows: z.number(),
  columns: z.record(z.string(), z.string()),
  null_counts: z.record(z.string(), z.number()),
  input_ids_sha256_le_i32: z.string(),
  total_tokens: z.number(),
  max_row_tokens: z.number().optional(),
  loss_mask_sha256_u8: z.string().optional(),
  loss_mask_ones: z.number().optional(),
})
type Facts = z.infer<typeof facts>
const splits = z.object({ splits: z.record(z.string(), facts) })
const expectations = z.object({
  datasets: z.record(z.string(), z.union([splits, facts])),
  files: z.record(z.string(), z.unknown()),
})

/** Those of the files that are datasets which this version reads. */
const readable = [
  'ipc_stream.arrow',
  'ipc_stream_legacy_v4.arrow',
  'ipc_stream_no_eos.arrow',
  'list_offsets_not_from_zero.arrow',
  'dictionary_and_fixed_size_list.arrow',
  'uint16_ids.arrow',
]

function readAll(path: string, split: string | null, lossMask: string | null) {
  const dataset = openDataset(path, {
    split,
    columns: { inputIds: 'input_ids', lossMask, seqLen: 'seq_len' },
  })
  const idsHash = createHash('sha256')
  const maskHash = createHash('sha256')
  const lengths = dataset.lengths()
  const sum = { rows: dataset.rows, nullRows: 0, tokens: 0, ones: 0, longest: 0 }
  for (let row = 0; row < dataset.rows; row++) {
    const sample = dataset.read(row)
    if ('unusable' in sample) {
      if (sample.unusable === 'null row') sum.nullRows++
      else assert.equal(sample.unusable, 'empty', `row ${row}`)
      continue
    }
    const { ids, mask } = sample
    assert.equal(lengths[row], ids.length, `row ${row}`)
    idsHash.update(ids.length === 0 ? '' : new Uint8Array(ids.buffer))
    sum.tokens += ids.length
    sum.longest = Math.max(sum.longest, ids.length)
    if (!mask) continue
    maskHash.update(mask)
    for (const flag of mask) sum.ones += flag
  }
  return { ...sum, ids: idsHash.digest('hex'), mask: maskHash.digest('hex') }
}

function check(path: string, split: string | null, want: Facts): void {
  const found = readAll(path, split, null)
  assert.equal(found.rows, want.rows)
  assert.equal(found.tokens, want.total_tokens)
  assert.equal(found.ids, want.input_ids_sha256_le_i32)
  assert.equal(found.nullRows, want.null_counts.input_ids)
  if (want.max_row_tokens !== undefined) assert.equal(found.longest, want.max_row_tokens)
  if (want.loss_mask_sha256_u8 === undefined) return
  const masked = readAll(path, split, 'loss_mask')
  assert.equal(masked.mask, want.loss_mask_sha256_u8)
  assert.equal(masked.ones, want.loss_mask_ones)
  // In these data a row with null ids has a null mask too.
  assert.equal(masked.nullRows, want.null_counts.loss_mask)
}

function checkAll(root: string): { datasets: number; files: number } {
  const text = readFileSync(join(root, 'expected.json'), 'utf8')
  const expected = expectations.parse(JSON.parse(text))
  for (const [name, want] of Object.entries(expected.datasets)) {
    if ('splits' in want) {
      for (const [split, one] of Object.entries(want.splits)) check(join(root, name), split, one)
    } else check(join(root, name), null, want)
  }
  const files = readable.filter((name) => name in expected.files)
  for (const name of files) check(join(root, name), null, facts.parse(expected.files[name]))
  return { datasets: Object.keys(expected.datasets).length, files: files.length }
}

test('dataset: rows of save_to_disk and of stream files are those that were written', () => {
  assert.deepEqual(checkAll(golden('arrow')), { datasets: 8, files: 5 })
})

test('dataset: all reference datasets, the large one too, hold what is said of them', (t) => {
  const shared = needsShared(t, 'reference/arrow')
  if (shared === undefined) return
  assert.deepEqual(checkAll(shared), { datasets: 10, files: 6 })
})
