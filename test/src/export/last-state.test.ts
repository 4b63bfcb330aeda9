import assert from 'node:assert/strict'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { beforeNorm, lastStateOf } from '../../../src/export/last-state.ts'
import { isFailure } from '../../../src/failure.ts'
import type { StoredDType } from '../../../src/models/hidden-states.ts'
import { openTarget } from '../../../src/models/target.ts'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { encodeSafetensors } from '../../../src/safetensors/write.ts'
import { float32ToBfloat16 } from '../../../src/tensor/bfloat16.ts'
import { statesDType } from '../../../src/tensor/dtype.ts'
import { float32ToFloat16 } from '../../../src/tensor/float16.ts'
import { elements, float32Elements } from '../../../src/tensor/tensor.ts'
import { golden } from '../../support/golden.ts'
import { scratch } from '../../support/target-run.ts'

/** The last of a sample's states, for a reader that norms it itself. */

const stored = {
  bf16: float32ToBfloat16,
  f16: float32ToFloat16,
  f32: (values: Float32Array<ArrayBuffer>) => values,
}

/** Two tokens of three states, of two numbers each. */
function sample(dtype: StoredDType): Uint8Array {
  const values = stored[dtype](Float32Array.of(1, 2, 3, 4, 8, 6, 7, 8, 9, 10, -4, 3))
  const states = { name: 'hidden_states', dtype: statesDType[dtype], shape: [2, 3, 2] }
  const ids = { name: 'token_ids', dtype: 'I64', shape: [2], data: new Uint8Array(16) } as const
  const metadata = { captures: 'layer_0,layer_1,final', target: 't' }
  const parts = encodeSafetensors(
    [{ ...states, data: new Uint8Array(values.buffer) }, ids],
    metadata,
  )
  return Buffer.concat(parts)
}

for (const dtype of ['bf16', 'f16', 'f32'] as const) {
  test(`last state in ${dtype}: only the last of each token is divided by the weight`, () => {
    const weight = Float32Array.of(4, 1.5)
    const parts = beforeNorm(sample(dtype), { weight, dtype, name: 'key' })
    const { metadata, tensors } = readSafetensors(Buffer.concat(parts), 'out')
    const states = tensors.get('hidden_states')
    assert.ok(states)
    assert.deepEqual([...float32Elements(states)], [1, 2, 3, 4, 2, 4, 7, 8, 9, 10, -1, 2])
    assert.equal(metadata.get('captures'), 'layer_0,layer_1,before_final_norm')
    assert.equal(metadata.get('target'), 't')
    assert.equal(tensors.size, 2)
  })
}

test('last state: one that its type cannot hold without the norm is refused', () => {
  const weight = Float32Array.of(4, 1e-5)
  assert.throws(
    () => beforeNorm(sample('f16'), { weight, dtype: 'f16', name: 'k' }),
    (error) => isFailure(error, 'invalid') && /no number in f16. file=k/.test(error.message),
  )
  beforeNorm(sample('f32'), { weight, dtype: 'f32', name: 'k' })
})

test('last state: a file of another type or width is corrupt', () => {
  const weight = Float32Array.of(4, 1)
  const isCorrupt = (error: unknown) => isFailure(error, 'corrupt')
  assert.throws(() => beforeNorm(sample('f16'), { weight, dtype: 'bf16', name: 'k' }), isCorrupt)
  const wide = Float32Array.of(4, 1, 1)
  assert.throws(
    () => beforeNorm(sample('f32'), { weight: wide, dtype: 'f32', name: 'k' }),
    isCorrupt,
  )
})

test('last state: as stored where the last layer is last; the norm is undone', async () => {
  const target = await openTarget(golden('targets', 'qwen3_tied_f32'))
  const raw = { layers: [1, 3, 5], captureFinal: false }
  assert.deepEqual(await lastStateOf(raw, target), { kind: 'as stored' })
  const last = await lastStateOf({ layers: [0, 2], captureFinal: true }, target)
  assert.ok(last.kind === 'before the norm')
  const file = await readFile(golden('targets', 'qwen3_tied_f32', 'model.safetensors'))
  const norm = readSafetensors(file, 'target').tensors.get('model.norm.weight')
  assert.ok(norm)
  assert.deepEqual(last.weight, elements(norm, 'F32'))
})

test('last state: one that was not kept, or cannot be told, is refused', async () => {
  const target = await openTarget(golden('targets', 'qwen3_tied_f32'))
  const refused = (of: Promise<unknown>, words: RegExp) =>
    assert.rejects(of, (error) => isFailure(error, 'invalid') && words.test(error.message))
  const missing = { layers: [1, 5, 3], captureFinal: false }
  await refused(lastStateOf(missing, target), /no last state.*want=5 .*found=\[1, 5, 3\]/)
  await refused(lastStateOf(missing, undefined), /cannot be told/)
})

test('last state: a norm that cannot be undone is refused, and says where', async (t) => {
  const dir = await scratch(t)
  await cp(golden('targets', 'qwen3_tied_f32'), dir, { recursive: true })
  const path = join(dir, 'model.safetensors')
  const { tensors, metadata } = readSafetensors(await readFile(path), path)
  const norm = tensors.get('model.norm.weight')
  assert.ok(norm)
  elements(norm, 'F32')[7] = 0
  await writeFile(
    path,
    Buffer.concat(encodeSafetensors([...tensors.values()], Object.fromEntries(metadata))),
  )
  const target = await openTarget(dir)
  await assert.rejects(
    lastStateOf({ layers: [0], captureFinal: true }, target),
    (error) => isFailure(error, 'invalid') && /tensor=model.norm.weight, at=7/.test(error.message),
  )
})
