import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDrafterConfig } from '../../../src/models/drafter-config.ts'
import { drafterTensors, initialDrafter } from '../../../src/models/drafter-tensors.ts'
import { openSafetensors } from '../../../src/safetensors/read.ts'
import { golden, goldenJson } from '../../support/golden.ts'

const configOf = (name: string) =>
  parseDrafterConfig(goldenJson('dflash', name, 'config.json'), 'config.json')

test('drafter tensors: names and shapes are those of the published checkpoints', async () => {
  for (const name of ['drafter_b8', 'drafter_b16', 'drafter_b8_sliding']) {
    const file = await openSafetensors(golden('dflash', name, 'model.safetensors'))
    const want = [...file.tensors].map(([tensor, { shape }]) => ({ name: tensor, shape }))
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
    const found = drafterTensors(configOf(name))
    assert.deepEqual(found.toSorted(byName), want.toSorted(byName), name)
  }
})

test('drafter tensors: a seed gives the same first values, another seed others', () => {
  const config = configOf('drafter_b8')
  const first = initialDrafter(config, 3)
  assert.deepEqual(initialDrafter(config, 3), first)
  assert.notDeepEqual(initialDrafter(config, 4), first)
  assert.deepEqual(
    [...first.keys()],
    drafterTensors(config).map(({ name }) => name),
  )
  assert.ok(first.get('norm.weight')?.every((value) => value === 1))
  const fc = first.get('fc.weight') ?? new Float32Array()
  const deviation = Math.sqrt(fc.reduce((sum, x) => sum + x * x, 0) / fc.length)
  const wanted = 1 / Math.sqrt(5 * config.hiddenSize)
  assert.ok(Math.abs(deviation - wanted) < 0.05 * wanted, `deviation ${deviation}`)
})
