import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { type PackedBatch, packSamples } from '../../../src/feed/pack.ts'
import { fullRows, rungOf, shapeFor } from '../../../src/feed/shapes.ts'

const rule = { seed: 1, shuffleWindow: 1000, tokensPerBatch: 4096 }

/** As of a chat dataset: many short ones, few long ones. */
function lengths(count: number, max = 2000): Uint32Array {
  const random = seededRandom(count)
  return Uint32Array.from({ length: count }, () => Math.min(max, 1 + Math.floor(40 / random())))
}

const numbers = (count: number): Uint32Array => Uint32Array.from({ length: count }, (_, i) => i)
const flat = (batches: readonly PackedBatch[]): number[] => batches.flatMap((b) => [...b.samples])

test('pack: rungs are multiples of 64 that rise by a quarter', () => {
  const rungs = [1, 64, 65, 129, 193, 257, 321, 449, 577, 769, 961].map(rungOf)
  assert.deepEqual(rungs, [64, 64, 128, 192, 256, 320, 448, 576, 768, 960, 1216])
  for (let tokens = 1; tokens < 9000; tokens += 7) assert.ok(rungOf(tokens) >= tokens)
})

test('pack: rows fill the budget, or are halved as long as all find room', () => {
  assert.equal(fullRows(64, 4096), 64)
  assert.equal(fullRows(5000, 4096), 1)
  assert.deepEqual(shapeFor(64, 64, 4096), { rows: 64, tokens: 64 })
  assert.deepEqual(shapeFor(17, 64, 4096), { rows: 32, tokens: 64 })
  assert.deepEqual(shapeFor(16, 64, 4096), { rows: 16, tokens: 64 })
  assert.deepEqual(shapeFor(1, 64, 4096), { rows: 1, tokens: 64 })
  assert.deepEqual(shapeFor(3, 576, 4096), { rows: 4, tokens: 576 })
})

test('pack: every sample once, in a batch that it fits, within the budget', () => {
  const tokens = lengths(5000)
  const batches = packSamples(numbers(5000), tokens, rule)
  assert.deepEqual(
    flat(batches).sort((a, b) => a - b),
    [...numbers(5000)],
  )
  for (const { samples, shape } of batches) {
    assert.ok(samples.length <= shape.rows && shape.rows * shape.tokens <= 4096)
    for (const sample of samples) assert.ok(tokens[sample] <= shape.tokens)
  }
})

test('pack: few shapes, and little padding', () => {
  const tokens = lengths(20_000)
  const batches = packSamples(numbers(20_000), tokens, { ...rule, shuffleWindow: 10_000 })
  const shapes = new Set(batches.map(({ shape }) => `${shape.rows}x${shape.tokens}`))
  const padded = batches.reduce((sum, { shape }) => sum + shape.rows * shape.tokens, 0)
  const real = tokens.reduce((sum, some) => sum + some, 0)
  assert.ok(shapes.size <= 20, [...shapes].join(' '))
  assert.ok(real / padded > 0.7, `${real / padded}`)
})

test('pack: the same again, and another order with another seed', () => {
  const tokens = lengths(3000)
  const pack = (seed: number) => packSamples(numbers(3000), tokens, { ...rule, seed })
  assert.deepEqual(pack(5), pack(5))
  assert.notDeepEqual(flat(pack(5)), flat(pack(6)))
})

test('pack: a sample beyond the budget is a batch alone', () => {
  const [long, ...others] = packSamples(numbers(3), Uint32Array.of(5000, 60, 60), rule)
  assert.deepEqual([[...long.samples], long.shape], [[0], { rows: 1, tokens: rungOf(5000) }])
  assert.deepEqual(flat(others).sort(), [1, 2])
})

test('pack: of equal lengths all batches are full but the last one (B49)', () => {
  const tokens = new Uint32Array(100).fill(500)
  const batches = packSamples(numbers(100), tokens, { ...rule, tokensPerBatch: 8 * 576 })
  assert.deepEqual(
    batches.map(({ samples }) => samples.length),
    [...new Array<number>(12).fill(8), 4],
  )
})
