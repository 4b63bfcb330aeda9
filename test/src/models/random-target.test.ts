import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { writeRandomTarget } from '../../../src/models/random-target.ts'
import { openRun, scratch } from '../../support/target-run.ts'

const size = {
  layers: 8,
  hiddenSize: 32,
  intermediateSize: 48,
  vocabSize: 100,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
}

test('random target: it runs, with states of a sane size in every layer', async (t) => {
  const dir = join(await scratch(t), 'target')
  await writeRandomTarget(dir, { ...size, dtype: 'F32', seed: 7 })
  const run = await openRun(t, dir, { captureFinal: true })
  const [states] = await run([Array.from({ length: 50 }, (_, i) => (i * 37) % 100)])
  assert.equal(states.size, 9)
  for (const [layer, values] of states) {
    const meanSquare = Array.from(values).reduce((sum, x) => sum + x * x, 0) / values.length
    assert.ok(meanSquare > 0.3 && meanSquare < 100, `${layer} has a mean square of ${meanSquare}`)
  }
})

test('random target: a seed gives the same bytes, another seed others', async (t) => {
  const dir = await scratch(t)
  const written = async (name: string, seed: number) => {
    const bytes = await writeRandomTarget(join(dir, name), { ...size, dtype: 'BF16', seed })
    const file = await readFile(join(dir, name, 'model.safetensors'))
    assert.equal(file.length, bytes)
    return createHash('sha256').update(file).digest('hex')
  }
  const first = await written('a', 7)
  assert.equal(await written('b', 7), first)
  assert.notEqual(await written('c', 8), first)
})
