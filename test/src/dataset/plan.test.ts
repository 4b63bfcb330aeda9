import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { type PlanOptions, planBatches } from '../../../src/dataset/plan.ts'

const options: PlanOptions = {
  tokenBudget: 4096,
  maxTokens: 6000,
  outputBytesPerToken: 10,
  outputBytesMax: 1e9,
  seed: 1,
  limit: null,
}

/** Log-normal like real ones, with null, empty and overlong rows among them. */
function someLengths(rows: number, seed: number): Int32Array {
  const random = seededRandom(seed)
  return Int32Array.from({ length: rows }, () => {
    const kind = random()
    if (kind < 0.01) return -1
    if (kind < 0.02) return 0
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    return Math.max(1, Math.round(200 * Math.exp(1.2 * normal)))
  })
}

const batchesOf = (lengths: Int32Array, changes: Partial<PlanOptions> = {}): number[][] => {
  const plan = planBatches(lengths, { ...options, ...changes })
  return Array.from({ length: plan.batches }, (_, i) => [...plan.rows(i)])
}

test('plan: every plannable row is in one batch, every other in none', () => {
  for (const seed of [1, 2, 3]) {
    // Long enough for several windows of 2^22 tokens.
    const lengths = someLengths(40_000, seed)
    const plan = planBatches(lengths, { ...options, seed })
    const planned = batchesOf(lengths, { seed }).flat()
    assert.equal(plan.rowsPlanned, planned.length)
    const isPlannable = (row: number) => lengths[row] > 0 && lengths[row] <= options.maxTokens
    const rows = [...lengths.keys()]
    assert.deepEqual(Uint32Array.from(planned).sort(), Uint32Array.from(rows.filter(isPlannable)))
    assert.deepEqual(
      [...plan.unplanned],
      rows.filter((row) => !isPlannable(row)),
    )
    assert.ok(plan.unplanned.length > 0)
  }
})

test('plan: padded tokens and output bytes stay within budget; a longer row is alone', () => {
  const lengths = someLengths(20_000, 4)
  const changes = [{}, { outputBytesMax: 20_000 }, { tokenBudget: 512 }, { tokenBudget: 1 }]
  for (const change of changes) {
    const { tokenBudget, outputBytesMax, outputBytesPerToken } = { ...options, ...change }
    for (const rows of batchesOf(lengths, change)) {
      assert.ok(rows.length > 0)
      if (rows.length === 1) continue
      const padded = rows.length * Math.max(...rows.map((row) => lengths[row]))
      assert.ok(padded <= tokenBudget && padded * outputBytesPerToken <= outputBytesMax)
    }
  }
})

test('plan: batches are nearly full, since rows of like length share them', () => {
  const lengths = someLengths(40_000, 5)
  const batches = batchesOf(lengths)
  let tokens = 0
  let padded = 0
  for (const rows of batches) {
    tokens += rows.reduce((sum, row) => sum + lengths[row], 0)
    padded += rows.length * lengths[rows.at(-1) ?? 0]
  }
  assert.ok(tokens / padded > 0.95, `fill=${tokens / padded}`)
})

test('plan: the same input gives the same plan, another seed another', () => {
  const lengths = someLengths(10_000, 6)
  assert.deepEqual(batchesOf(lengths), batchesOf(Int32Array.from(lengths)))
  assert.notDeepEqual(batchesOf(lengths), batchesOf(lengths, { seed: 2 }))
})

test('plan: it is this plan; another is another run, bit for bit', () => {
  const lengths = Int32Array.of(3, 5, 2, 0, 8, 3, 3, 9, -1, 1, 4, 12)
  const small = { tokenBudget: 9, maxTokens: 10, seed: 7 }
  assert.deepEqual(batchesOf(lengths, small), [[7], [0, 6], [10], [4], [1], [9, 2, 5]])
})

test('plan: early batches represent the dataset, though the dataset is sorted by source', () => {
  // The first half of the rows has 50 tokens, the second 300.
  const lengths = Int32Array.from({ length: 80_000 }, (_, row) => (row < 40_000 ? 50 : 300))
  const batches = batchesOf(lengths)
  const early = batches.slice(0, Math.floor(batches.length / 2)).flat()
  const late = early.filter((row) => row >= 40_000).length
  assert.ok(late > 0 && late < early.length, `late=${late}, early=${early.length}`)
})

test('plan: a batch’s rows lie close together, so that few record batches are open', () => {
  const lengths = someLengths(80_000, 8)
  for (const rows of batchesOf(lengths)) {
    const first = Math.min(...rows)
    const last = Math.max(...rows)
    let between = 0
    for (let row = first; row < last; row++) {
      const length = lengths[row]
      if (length > 0 && length <= options.maxTokens) between += length
    }
    assert.ok(between <= 2 ** 22, `between=${between}`)
  }
})

test('plan: a dataset that grows keeps the batches of its earlier windows', () => {
  const lengths = someLengths(60_000, 9)
  const before = new Set(batchesOf(lengths.subarray(0, 40_000)).map(String))
  const kept = batchesOf(lengths).filter((rows) => before.has(String(rows))).length
  assert.ok(kept > before.size / 2, `kept=${kept}, before=${before.size}`)
})

test('plan: a limit counts the dataset’s first rows, usable or not', () => {
  const lengths = someLengths(1000, 10)
  assert.deepEqual(batchesOf(lengths, { limit: 100 }), batchesOf(lengths.subarray(0, 100)))
  assert.deepEqual(batchesOf(lengths, { limit: 5000 }), batchesOf(lengths))
})

test('plan: no rows, or none that can be planned, is an empty plan', () => {
  assert.deepEqual(batchesOf(new Int32Array(0)), [])
  const plan = planBatches(Int32Array.of(0, -1, 99_999), options)
  assert.deepEqual([plan.batches, plan.rowsPlanned, [...plan.unplanned]], [0, 0, [0, 1, 2]])
})
