/**
 * Hidden states against those of transformers: test/golden/targets, and the full set where it is.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readSafetensors, type Safetensors } from '../../../src/safetensors/read.ts'
import { elements } from '../../../src/tensor/tensor.ts'
import { golden, goldenJson } from '../../support/golden.ts'
import { needsShared } from '../../support/needs.ts'
import { maxAbsDiff, openRun, type RowStates } from '../../support/target-run.ts'

const tolerance = 2e-4

interface Prompt {
  readonly ids: number[]
  /** Capture → its values, all layers and `final`. */
  readonly states: Map<string, Float32Array>
}

const floats = (file: Safetensors, name: string) => elements(file.tensors.get(name)!, 'F32')
const integers = (file: Safetensors, name: string) =>
  Array.from(elements(file.tensors.get(name)!, 'I64'), Number)

/** Index 0 of `hidden_states` is the embedding, the last is after the final norm. */
function statesOf(hidden: Float32Array, depth: number, lastRaw?: Float32Array) {
  const size = hidden.length / (depth + 1)
  const states = new Map<string, Float32Array>()
  for (let id = 0; id < depth - 1; id++) {
    states.set(`layer_${id}`, hidden.subarray((id + 1) * size, (id + 2) * size))
  }
  if (lastRaw) states.set(`layer_${depth - 1}`, lastRaw)
  states.set('final', hidden.subarray(depth * size))
  return states
}

function readPrompts(dir: string): Prompt[] {
  const file = readSafetensors(readFileSync(join(dir, 'reference.safetensors')), dir)
  return Array.from({ length: 6 }, (_, i) => {
    const { shape } = file.tensors.get(`single.${i}.hidden_states`)!
    const raw = floats(file, `single.${i}.last_layer_output_before_final_norm`)
    const states = statesOf(floats(file, `single.${i}.hidden_states`), shape[0] - 1, raw)
    return { ids: integers(file, `single.${i}.input_ids`), states }
  })
}

/** @returns  the largest difference */
function assertAgrees(found: RowStates, want: Prompt): number {
  assert.deepEqual([...found.keys()], [...want.states.keys()])
  let worst = 0
  for (const [name, values] of found) {
    const diff = maxAbsDiff(values, want.states.get(name)!)
    assert.ok(diff <= tolerance, `${name} of ${want.ids.length} tokens is off by ${diff}`)
    worst = Math.max(worst, diff)
  }
  return worst
}

async function checkTarget(t: TestContext, dir: string): Promise<void> {
  const prompts = readPrompts(dir)
  const run = await openRun(t, dir, { captureFinal: true })
  const diffs: number[] = []
  for (const prompt of prompts) diffs.push(assertAgrees((await run([prompt.ids]))[0], prompt))
  const together = await run(prompts.map((prompt) => prompt.ids))
  diffs.push(...prompts.map((prompt, i) => assertAgrees(together[i], prompt)))
  t.diagnostic(`off by ${Math.max(...diffs).toExponential(1)} at most`)
}

for (const name of ['qwen3_tied_bf16', 'llama_rope3_bf16', 'qwen2_bias_bf16']) {
  test(`target ${name}: agrees with transformers, alone and padded in a batch`, (t) =>
    checkTarget(t, golden('targets', name)))
}

for (const name of [
  'qwen3_tied_f32',
  'qwen3_untied_f32',
  'qwen3_untied_bf16',
  'llama_rope3_f32',
  'qwen2_bias_f32',
]) {
  test(`target ${name}: agrees with transformers, alone and padded in a batch`, async (t) => {
    const dir = needsShared(t, `reference/targets/${name}`)
    if (dir !== undefined) await checkTarget(t, dir)
  })
}

test('target: a padded batch agrees with the batch that transformers ran', async (t) => {
  const shared = needsShared(t, 'reference/targets')
  if (shared === undefined) return
  for (const name of ['qwen3_tied_f32', 'llama_rope3_f32', 'qwen2_bias_f32']) {
    const dir = join(shared, name)
    const file = readSafetensors(readFileSync(join(dir, 'reference.safetensors')), name)
    const { shape } = file.tensors.get('batch.hidden_states')!
    const [states, rows, width, hidden] = shape
    const ids = integers(file, 'batch.input_ids')
    const mask = integers(file, 'batch.attention_mask')
    const lists = Array.from({ length: rows }, (_, row) =>
      ids.slice(row * width, (row + 1) * width).filter((_, i) => mask[row * width + i] === 1),
    )
    const run = await openRun(t, dir, { captureFinal: true })
    const found = await run(lists)
    const want = floats(file, 'batch.hidden_states')
    lists.forEach((list, row) => {
      const own = Array.from({ length: states }, (_, k) => {
        const from = (k * rows + row) * width * hidden
        return want.subarray(from, from + list.length * hidden)
      })
      const joined = Float32Array.from(own.flatMap((part) => [...part]))
      const expected = statesOf(joined, states - 1)
      for (const [layer, values] of expected) {
        const diff = maxAbsDiff(found[row].get(layer)!, values)
        assert.ok(diff <= tolerance, `${name}, row ${row}, ${layer} is off by ${diff}`)
      }
    })
  }
})

test('target: every row of a small extraction agrees with transformers', async (t) => {
  const rows = goldenJson('extract', 'rows.json')
  assert.ok(Array.isArray(rows))
  const path = golden('extract', 'expected_qwen3_tied_bf16.safetensors')
  const expected = readSafetensors(readFileSync(path), path)
  const layers = [0, 1, 2, 3, 4]
  const run = await openRun(t, golden('targets', 'qwen3_tied_bf16'), { layers })
  const found = await run(rows)
  for (const [row, states] of found.entries()) {
    const want = floats(expected, `row.${row}.hidden_states`)
    const tokens = rows[row].length
    const hidden = want.length / tokens / layers.length
    for (const [slot, id] of layers.entries()) {
      const values = states.get(`layer_${id}`)!
      const own = Float32Array.from({ length: tokens * hidden }, (_, i) => {
        const token = Math.floor(i / hidden)
        return want[(token * layers.length + slot) * hidden + (i % hidden)]
      })
      const diff = maxAbsDiff(values, own)
      assert.ok(diff <= tolerance, `row ${row}, layer ${id} is off by ${diff}`)
    }
  }
})
