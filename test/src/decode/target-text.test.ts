import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { rowOf } from '../../../src/decode/text.ts'
import { isFailure } from '../../../src/failure.ts'
import { decodingTarget } from '../../support/decoding.ts'
import { golden } from '../../support/golden.ts'
import { maxAbsDiff, openRun } from '../../support/target-run.ts'

const random = seededRandom(11)
const prompt = Array.from({ length: 40 }, () => Math.floor(random() * 300))
const layers = [0, 3, 4]

for (const name of ['qwen3_tied_bf16', 'llama_rope3_bf16', 'qwen2_bias_bf16']) {
  test(`target text ${name}: read in pieces, with wrong tries, as read at once`, async (t) => {
    const dir = golden('targets', name)
    const target = await decodingTarget(t, dir, layers)
    const whole = await target.text(40).read(prompt, 'all')
    const pieces = target.text(40)
    for (const [from, to] of [
      [0, 7],
      [7, 15],
      [15, 16],
      [16, 39],
      [39, 40],
    ]) {
      // What was read and not kept leaves no trace, whether more or less of it than what follows.
      await pieces.read(Array(Math.min(9, 40 - from)).fill(5), 'all')
      const ids = prompt.slice(from, to)
      const all = await pieces.read([...ids, 1].slice(0, 40 - from), 'all')
      const { hidden, logits } = await pieces.read(ids, 'all')
      pieces.keep(ids.length)
      const width = whole.hidden.length / prompt.length
      const want = whole.hidden.subarray(from * width, to * width)
      assert.ok(maxAbsDiff(hidden, want) < 1e-5)
      for (const [i] of ids.entries()) {
        assert.ok(maxAbsDiff(rowOf(logits, i), rowOf(whole.logits, from + i)) < 1e-5)
        assert.ok(maxAbsDiff(rowOf(all.logits, i), rowOf(whole.logits, from + i)) < 1e-5)
      }
    }
    assert.equal(pieces.length, 40)
  })

  test(`target text ${name}: hidden states are those of an extraction`, async (t) => {
    const dir = golden('targets', name)
    const target = await decodingTarget(t, dir, layers)
    const text = target.text(40)
    const { hidden, logits } = await text.read(prompt, 'last')
    const [states] = await (await openRun(t, dir, { layers }))([prompt])
    const width = hidden.length / prompt.length / layers.length
    for (const [slot, layer] of layers.entries()) {
      const own = Float32Array.from({ length: prompt.length * width }, (_, i) => {
        return hidden[(Math.floor(i / width) * layers.length + slot) * width + (i % width)]
      })
      assert.ok(maxAbsDiff(own, states.get(`layer_${layer}`)!) < 1e-5)
    }
    assert.equal(logits.data.length, logits.vocabSize)
    const all = await text.read(prompt, 'all')
    assert.ok(maxAbsDiff(rowOf(all.logits, 39), logits.data) < 1e-5)
  })
}

test('target text: no more is read than it has room for, nor nothing', async (t) => {
  const target = await decodingTarget(t, golden('targets', 'qwen3_tied_f32'), [])
  const text = target.text(3)
  const { hidden } = await text.read([1, 2], 'last')
  assert.equal(hidden.length, 0)
  text.keep(2)
  const full = (error: unknown) => isFailure(error, 'invalid') && /no room/.test(String(error))
  await assert.rejects(text.read([1, 2], 'all'), full)
  await assert.rejects(text.read([], 'all'), full)
  // Nothing more can be kept than was read.
  await text.read([1], 'all')
  text.keep(5)
  assert.equal(text.length, 3)
})
