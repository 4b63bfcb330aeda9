import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { demoVocab } from '../../../src/demo/dataset.ts'
import { writeDemoTarget } from '../../../src/demo/target.ts'
import { openTarget } from '../../../src/models/target.ts'
import { targetLayerIds } from '../../../src/models/target-layers.ts'

test('demo target: a small Qwen3 with layers enough, the same everywhere', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-demo-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const bytes = await writeDemoTarget(dir)

  const weights = readFileSync(join(dir, 'model.safetensors'))
  assert.equal(bytes, weights.length)
  assert.ok(bytes < 2_000_000, `bytes=${bytes}`)
  assert.equal(
    createHash('sha256').update(weights).digest('hex'),
    'c5346ae354c091b1706bee942487b1f073d8b9606bfc2ac489c40777aa2c4d80',
  )

  const target = await openTarget(dir)
  assert.equal(target.config.architecture, 'Qwen3ForCausalLM')
  assert.equal(target.vocabSize, demoVocab)
  assert.deepEqual(targetLayerIds({ layers: target.layers, count: 5 }), [1, 2, 4, 6, 7])
})
