import assert from 'node:assert/strict'
import { cp, open } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { extract } from '../../../actors/extractor/extract.ts'
import { loadModel } from '../../../actors/extractor/model.ts'
import type { Batch } from '../../../protocol/sample.ts'
import { openTarget } from '../../../src/models/target.ts'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { Gate } from '../../../src/session/gate.ts'
import type { FinishedSample } from '../../../src/spool/spool.ts'
import { float32Elements } from '../../../src/tensor/tensor.ts'
import { golden } from '../../support/golden.ts'
import { silent } from '../../support/ledger-rig.ts'
import { hashOfIds } from '../../support/planned.ts'
import { maxAbsDiff, scratch } from '../../support/target-run.ts'

test('model: a batch of any size gives each row the states it has alone (B11)', async (t) => {
  const path = golden('targets', 'qwen3_tied_bf16')
  const target = await openTarget(path)
  const fingerprint = await target.fingerprint()
  const model = await loadModel(
    {
      device: 'cpu',
      threads: 2,
      target: {
        path,
        layers: [1, 2],
        captureFinal: true,
        fingerprint,
        stamp: await target.stamp(),
      },
      dtype: 'f32',
      work: await scratch(t),
      keepFree: 0,
    },
    { gate: new Gate(new Int32Array(new SharedArrayBuffer(4))), log: silent },
  )
  t.after(() => model.release())
  assert.deepEqual(model.captures, ['layer_1', 'layer_2', 'final'])
  const rows = [42, 46, 43, 45, 37, 3, 1, 64].map((length, row) =>
    Array.from({ length }, (_, i) => (i * 7 + row * 13) % target.vocabSize),
  )
  const states = async (some: readonly number[][]): Promise<Map<string, Float32Array>> => {
    const found = new Map<string, Float32Array>()
    const batch: Batch = {
      id: 'b000000',
      rows: some.map((ids, row) => ({
        row,
        hash: hashOfIds(ids),
        tokens: ids.length,
        wanted: true,
      })),
      tokenIds: Int32Array.from(some.flat()),
    }
    const keep = async ({ parts, ...ref }: FinishedSample) => {
      const { tensors, metadata } = readSafetensors(Buffer.concat(parts), ref.hash)
      const tensor = tensors.get('hidden_states') ?? assert.fail('there are no states')
      assert.deepEqual(tensor.shape, [ref.tokens, 3, target.hiddenSize])
      assert.equal(metadata.get('target'), fingerprint)
      found.set(ref.hash, float32Elements(tensor))
      return true
    }
    await extract(batch, { ...model, keep, dtype: 'f32' })
    return found
  }
  const together = await states(rows)
  const again = await states(rows)
  assert.equal(together.size, 8)
  for (const ids of rows) {
    const hash = hashOfIds(ids)
    const alone = (await states([ids])).get(hash) ?? []
    assert.ok(maxAbsDiff(together.get(hash) ?? [], alone) <= 1e-5)
    assert.deepEqual(again.get(hash), together.get(hash))
  }
})

test('model: a target that changed since the run was started is refused', async (t) => {
  const dir = await scratch(t)
  const path = join(dir, 'target')
  await cp(golden('targets', 'qwen3_tied_bf16'), path, { recursive: true })
  const target = await openTarget(path)
  const input = {
    device: 'cpu',
    threads: 1,
    target: {
      path,
      layers: [1],
      captureFinal: false,
      fingerprint: await target.fingerprint(),
      stamp: await target.stamp(),
    },
    dtype: 'f32',
    work: join(dir, 'work'),
    keepFree: 0,
  } as const
  const tools = { gate: new Gate(new Int32Array(new SharedArrayBuffer(4))), log: silent }
  await (await loadModel(input, tools)).release()
  // In place and by the same size: neither header nor length shows it.
  const file = await open(join(path, 'model.safetensors'), 'r+')
  await file.write(Buffer.from([1, 2, 3, 4]), 0, 4, (await file.stat()).size - 5000)
  await file.close()
  await assert.rejects(loadModel(input, tools), { kind: 'invalid', message: /has changed/ })
})
