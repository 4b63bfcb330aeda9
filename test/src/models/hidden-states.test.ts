import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { isFailure } from '../../../src/failure.ts'
import { hiddenStatesGraph } from '../../../src/models/hidden-states.ts'
import { openTarget } from '../../../src/models/target.ts'
import { float32ToBfloat16 } from '../../../src/tensor/bfloat16.ts'
import { float32ToFloat16 } from '../../../src/tensor/float16.ts'
import { golden } from '../../support/golden.ts'
import { maxAbsDiff, openRun } from '../../support/target-run.ts'

const tiny = golden('targets', 'qwen3_tied_bf16')

function randomRows(lengths: readonly number[], seed: number): number[][] {
  const random = seededRandom(seed)
  return lengths.map((length) => Array.from({ length }, () => Math.floor(random() * 320)))
}

test('hidden states: of a row they are the same alone, in a batch, and again', async (t) => {
  const rows = randomRows([42, 46, 43, 45, 37, 3, 1, 64], 11)
  for (const name of ['qwen3_tied_bf16', 'llama_rope3_bf16', 'qwen2_bias_bf16']) {
    const run = await openRun(t, golden('targets', name), { captureFinal: true })
    const alone = await Promise.all(rows.map(async (row) => (await run([row]))[0]))
    for (const found of [await run(rows), await run(rows)]) {
      rows.forEach((row, i) => {
        for (const [layer, values] of found[i]) {
          assert.equal(values.length, row.length * 64)
          const diff = maxAbsDiff(values, alone[i].get(layer)!)
          assert.ok(diff <= 1e-5, `${name}: ${layer} of row ${i} differs by ${diff}`)
        }
      })
    }
  }
})

test('hidden states: rows that share a prefix have each one for every token', async (t) => {
  const [prefix, left, right] = randomRows([64, 9, 30], 13)
  const run = await openRun(t, tiny)
  const [first] = await run([[...prefix, ...left]])
  const [second] = await run([[...prefix, ...right]])
  const [alone] = await run([prefix])
  for (const [layer, values] of alone) {
    assert.equal(first.get(layer)!.length, 73 * 64)
    assert.equal(second.get(layer)!.length, 94 * 64)
    assert.ok(maxAbsDiff(first.get(layer)!.slice(0, values.length), values) <= 1e-5)
    assert.ok(maxAbsDiff(second.get(layer)!.slice(0, values.length), values) <= 1e-5)
  }
})

test('hidden states: what is stored in 16 bits is the nearest of the float32 ones', async (t) => {
  const rows = randomRows([30, 7, 1], 17)
  const exact = await (await openRun(t, tiny, { captureFinal: true }))(rows)
  for (const [dtype, narrow] of [
    ['bf16', float32ToBfloat16],
    ['f16', float32ToFloat16],
  ] as const) {
    const run = await openRun(t, tiny, { captureFinal: true, dtype })
    const found = await run(rows)
    rows.forEach((_, i) => {
      for (const [layer, values] of exact[i]) {
        assert.ok(values instanceof Float32Array)
        assert.deepEqual(found[i].get(layer), narrow(values), `${dtype} ${layer} of row ${i}`)
      }
    })
  }
})

test('hidden states: captured as ordered, layers above the last one not built', async () => {
  const target = await openTarget(tiny)
  const captures = { layers: [3, 1], captureFinal: false, dtype: 'bf16' } as const
  const graph = hiddenStatesGraph(target, captures)
  assert.deepEqual(
    graph.outputs.map(({ name, value }) => [name, value.dtype, value.shape]),
    [
      ['layer_3', 'U16', ['batch', 'tokens', 64]],
      ['layer_1', 'U16', ['batch', 'tokens', 64]],
    ],
  )
  const weights = graph.initializers.map(({ value }) => value.name)
  assert.ok(weights.includes('model.layers.3.mlp.down_proj.weight'))
  assert.ok(!weights.some((name) => name.startsWith('model.layers.4')))
  assert.ok(!weights.includes('model.norm.weight'))
})

test('hidden states: layers that are not there, or twice, or none, are refused', async () => {
  const target = await openTarget(tiny)
  for (const [layers, problem] of [
    [[1, 6], 'the target has no layer 6'],
    [[-1], 'the target has no layer -1'],
    [[1.5], 'the target has no layer 1.5'],
    [[2, 3, 2], 'layer 2 is named twice'],
    [[], 'none is named'],
  ] as const) {
    assert.throws(
      () => hiddenStatesGraph(target, { layers, captureFinal: false, dtype: 'f32' }),
      (error) => isFailure(error, 'invalid') && error.message.includes(problem),
    )
  }
})
