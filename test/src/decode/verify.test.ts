import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Random, seededRandom } from '../../../src/clock.ts'
import { decodeAlone, speculate } from '../../../src/decode/speculate.ts'
import { type Logits, rowOf } from '../../../src/decode/text.ts'
import { best, drawing, greedily, type Verify } from '../../../src/decode/verify.ts'
import { isFailure } from '../../../src/failure.ts'
import { chiSquareMax, chiSquareOf } from '../../support/chi-square.ts'
import { decodingPair } from '../../support/decoding.ts'
import { golden } from '../../support/golden.ts'

const logitsOf = (...rows: readonly (readonly number[])[]): Logits => ({
  data: Float32Array.from(rows.flat()),
  vocabSize: rows[0].length,
})

test('verify: drafts stand up to the first that the target would not say', () => {
  const logits = logitsOf([0, 5, 1], [4, 0, 3], [1, 2, 9])
  assert.deepEqual(greedily([], logitsOf([0, 5, 1])), { accepted: 0, next: 1, leads: [4] })
  assert.deepEqual(greedily([1, 0], logits), { accepted: 2, next: 2, leads: [4, 1, 7] })
  assert.deepEqual(greedily([1, 2], logits), { accepted: 1, next: 0, leads: [4, 1] })
  // Later ones are right by chance: they followed a wrong one.
  assert.deepEqual(greedily([0, 0], logits), { accepted: 0, next: 1, leads: [4] })
})

test('verify: of equals the first is the best, and leads by nothing; NaN is never', () => {
  assert.deepEqual(best(Float32Array.of(1, 3, 3)), { id: 1, lead: 0 })
  assert.deepEqual(best(Float32Array.of(Number.NaN, -2, Number.NaN, -1)), { id: 3, lead: 1 })
})

test('verify: nothing is drawn from logits that are no numbers', () => {
  const verify = drawing({ temperature: 1, random: seededRandom(1) })
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
    for (const drafts of [[], [1]]) {
      assert.throws(
        () => verify(drafts, logitsOf([0, bad, 1], [1, 2, 3])),
        (error) => isFailure(error, 'invalid') && /gives no number/.test(error.message),
      )
    }
  }
})

/** The share of each token at this temperature. */
function shares(row: Float32Array, temperature: number): number[] {
  const weights = Array.from(row, (value) => Math.exp(value / temperature))
  const total = weights.reduce((sum, weight) => sum + weight)
  return weights.map((weight) => weight / total)
}

test('verify: what is drawn is as the target alone would draw, whatever was drafted', () => {
  const temperature = 0.7
  const rows = [
    [0.3, 1.2, -0.5, 0.9, 0, -2],
    [1, 1.1, 0.2, -0.4, 0.6, 0.5],
  ]
  const logits = logitsOf(...rows)
  const want = rows.map((row) => shares(Float32Array.from(row), temperature))
  for (const draft of [0, 1, 5]) {
    const verify = drawing({ temperature, random: seededRandom(100 + draft) })
    const first = new Array<number>(6).fill(0)
    const second = new Array<number>(6).fill(0)
    for (let i = 0; i < 20_000; i++) {
      const { accepted, next } = verify([draft], logits)
      first[accepted === 1 ? draft : next]++
      if (accepted === 1) second[next]++
    }
    assert.ok(chiSquareOf(first, want[0]) < chiSquareMax(5), `after draft ${draft}`)
    assert.ok(chiSquareOf(second, want[1]) < chiSquareMax(5), `behind draft ${draft}`)
  }
})

test('verify: a temperature near 0 draws the best token, and a sure one is never refused', () => {
  const verify = drawing({ temperature: 1e-3, random: seededRandom(1) })
  const logits = logitsOf([0, 5, 1], [4, 0, 3])
  assert.deepEqual(verify([1], logits), { accepted: 1, next: 0, leads: [] })
  assert.deepEqual(verify([2], logits), { accepted: 0, next: 1, leads: [] })
  const sure = logitsOf([Number.NEGATIVE_INFINITY, 0], [0, Number.NEGATIVE_INFINITY])
  const last: Random = () => 1 - 2 ** -32
  const { accepted, next } = drawing({ temperature: 1, random: last })([1], sure)
  assert.deepEqual([accepted, next], [1, 0])
})

/** Tokens come in hundreds: the likely ones each have a bin, and all others share the last. */
function binned(want: readonly number[], found: readonly number[]) {
  const ids = want
    .map((share, id) => ({ share, id }))
    .filter(({ share }) => share >= 0.01)
    .map(({ id }) => id)
  const bins = (list: readonly number[]) => {
    const own = ids.map((id) => list[id])
    const total = list.reduce((sum, value) => sum + value)
    return [...own, total - own.reduce((sum, value) => sum + value)]
  }
  return { want: bins(want), found: bins(found) }
}

test('verify: a target draws the same with a drafter, not if drafts are favoured', async (t) => {
  const temperature = 0.8
  const pair = await decodingPair(t, {
    target: golden('targets', 'qwen3_tied_f32'),
    drafter: golden('dflash', 'drafter_b8_overfit'),
  })
  const wanted = { prompt: [53, 235, 238], maxNewTokens: 2, stopTokens: new Set<number>() }
  const capacity = wanted.prompt.length + 10

  // Exactly: the second token's share is the sum over all first ones.
  const text = pair.target.text(capacity)
  const { logits } = await text.read(wanted.prompt, 'last')
  text.keep(wanted.prompt.length)
  const first = shares(logits.data, temperature)
  const second = new Array<number>(first.length).fill(0)
  for (const [id, share] of first.entries()) {
    const row = shares(rowOf((await text.read([id], 'last')).logits, 0), temperature)
    row.forEach((part, next) => {
      second[next] += share * part
    })
  }

  const counted = async (verify: Verify, alone: boolean) => {
    const counts = new Array<number>(second.length).fill(0)
    for (let i = 0; i < 800; i++) {
      const target = pair.target.text(capacity)
      const { tokens } = alone
        ? await decodeAlone(target, wanted, verify)
        : await speculate({ target, drafter: pair.drafter.text(capacity) }, wanted, verify)
      counts[tokens[1]]++
    }
    const bins = binned(second, counts)
    return { found: chiSquareOf(bins.found, bins.want), max: chiSquareMax(bins.want.length - 1) }
  }
  const drawn = (seed: number) => drawing({ temperature, random: seededRandom(seed) })
  const drafted = await counted(drawn(1), false)
  const alone = await counted(drawn(2), true)
  t.diagnostic(`χ² ${drafted.found} with, ${alone.found} without, at most ${alone.max}`)
  assert.ok(drafted.found < drafted.max, `with: ${drafted.found}, at most ${drafted.max}`)
  assert.ok(alone.found < alone.max, `without: ${alone.found}, at most ${alone.max}`)

  // The test tells a wrong rule: of the drafts that fell, a few stand all the same.
  const random = seededRandom(3)
  const right = drawn(3)
  const wrong: Verify = (drafts, all) => {
    const verdict = right(drafts, all)
    const fallen = verdict.accepted < drafts.length
    if (!fallen || random() < 0.7) return verdict
    return { ...verdict, next: drafts[verdict.accepted] }
  }
  const favoured = await counted(wrong, false)
  assert.ok(favoured.found > favoured.max, `favoured: ${favoured.found}`)
})
