import assert from 'node:assert/strict'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { openDrafter } from '../../../src/models/drafter.ts'
import { encodeSafetensors } from '../../../src/safetensors/write.ts'
import { golden } from '../../support/golden.ts'
import { scratch } from '../../support/target-run.ts'
import { goldenTensors } from '../../support/training/cases.ts'

const refuses = (dir: string, ...words: readonly string[]) =>
  assert.rejects(openDrafter(dir), (error) => {
    assert.ok(isFailure(error, 'invalid'), String(error))
    for (const word of words) assert.ok(error.message.includes(word), `${error.message}: ${word}`)
    return true
  })

test('drafter: opened as it was published; its file may stand beside the target’s', async () => {
  const { config, weights } = await openDrafter(golden('dflash', 'drafter_b16'))
  assert.equal(config.blockSize, 16)
  assert.deepEqual(
    weights.files.map(({ name }) => name),
    ['drafter-model.safetensors'],
  )
  assert.ok([...weights.tensors.values()].every(({ file }) => file === weights.files[0]))
})

test('drafter: tensors missing, left over or of another shape are all named', async (t) => {
  const dir = await scratch(t)
  await cp(golden('dflash', 'drafter_b16'), dir, { recursive: true })
  const { tensors } = goldenTensors('drafter_b16', 'model.safetensors')
  const changed = [...tensors.values()].flatMap((tensor) => {
    if (tensor.name === 'norm.weight') return []
    if (tensor.name === 'hidden_norm.weight') return [{ ...tensor, shape: [2, 32] }]
    return [tensor.name === 'fc.weight' ? { ...tensor, name: 'context_proj.weight' } : tensor]
  })
  await writeFile(join(dir, 'model.safetensors'), Buffer.concat(encodeSafetensors(changed)))
  await refuses(
    dir,
    'missing: fc.weight, norm.weight',
    'extra: context_proj.weight',
    'unfit: hidden_norm.weight want=[64] found=[2, 32]',
  )
})

test('drafter: a folder without one, and a config that is no JSON, are named', async (t) => {
  const dir = await scratch(t)
  await refuses(dir, 'no drafter there', dir)
  const text = await readFile(golden('dflash', 'drafter_b16', 'config.json'), 'utf8')
  await writeFile(join(dir, 'config.json'), text.slice(0, 100))
  await refuses(dir, 'no JSON', join(dir, 'config.json'))
})
