import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { elements, float32Elements, type Tensor } from '../../../src/tensor/tensor.ts'
import { golden } from '../golden.ts'
import { goldenTarget } from './golden-job.ts'

/** Rows of token ids, and the hidden states that transformers made of them in float32. */

export const hidden = 64

export interface GoldenRow {
  readonly ids: Int32Array
  /** [tokens, captures, hidden], row-major. */
  readonly states: Float32Array
}

export function qwen3Rows(): GoldenRow[] {
  const ids: number[][] = JSON.parse(readFileSync(golden('extract', 'rows.json'), 'utf8'))
  const path = golden('extract', 'expected_qwen3_tied_bf16.safetensors')
  const { tensors } = readSafetensors(readFileSync(path), path)
  return ids.map((row, index) => ({
    ids: Int32Array.from(row),
    states: float32Elements(tensorOf(tensors, `row.${index}.hidden_states`)),
  }))
}

/** Layers 0, 2 and 4, the last, as they come out; then 4 once more, after the final norm. */
export function llamaRows(): GoldenRow[] {
  const path = join(goldenTarget('llama_rope3_bf16'), 'reference.safetensors')
  const { tensors } = readSafetensors(readFileSync(path), path)
  return Array.from({ length: 6 }, (_, index) => {
    const of = (name: string): Tensor => tensorOf(tensors, `single.${index}.${name}`)
    const ids = Int32Array.from(elements(of('input_ids'), 'I64'), Number)
    const size = ids.length * hidden
    const all = float32Elements(of('hidden_states'))
    const after = (layers: number) => all.subarray(layers * size, (layers + 1) * size)
    const last = float32Elements(of('last_layer_output_before_final_norm'))
    return { ids, states: sideBySide([after(1), after(3), last, after(5)], ids.length) }
  })
}

function sideBySide(captures: readonly Float32Array[], tokens: number): Float32Array {
  const states = new Float32Array(tokens * captures.length * hidden)
  for (let token = 0; token < tokens; token++) {
    for (const [index, capture] of captures.entries()) {
      const one = capture.subarray(token * hidden, (token + 1) * hidden)
      states.set(one, (token * captures.length + index) * hidden)
    }
  }
  return states
}

export function tensorOf(tensors: ReadonlyMap<string, Tensor>, name: string): Tensor {
  const tensor = tensors.get(name)
  assert.ok(tensor, `no ${name}`)
  return tensor
}
