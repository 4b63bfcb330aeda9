import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { writeDemoTarget } from '../../../src/demo/target.ts'
import { demoVocab } from '../../../src/demo/tokens.ts'
import { openTarget } from '../../../src/models/target.ts'
import { targetLayerIds } from '../../../src/models/target-layers.ts'

test('demo target: a small Qwen3 with layers enough', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-demo-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  await writeDemoTarget(dir)
  assert.ok(statSync(join(dir, 'model.safetensors')).size < 4_000_000)

  const target = await openTarget(dir)
  assert.equal(target.config.architecture, 'Qwen3ForCausalLM')
  assert.equal(target.vocabSize, demoVocab)
  assert.deepEqual(targetLayerIds({ layers: target.layers, count: 5 }), [1, 2, 3, 4, 5])
})
