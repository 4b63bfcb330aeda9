import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeFolder } from '../../../src/export/folder.ts'
import { type DrafterToExport, type WeightType, zlabFiles } from '../../../src/export/zlab.ts'
import { isFailure } from '../../../src/failure.ts'
import { DraftVocab } from '../../../src/models/draft-vocab.ts'
import { openDrafter } from '../../../src/models/drafter.ts'
import { openSafetensors, readTensor } from '../../../src/safetensors/read.ts'
import { elements } from '../../../src/tensor/tensor.ts'
import { goldenDrafter } from '../../support/export/drafters.ts'
import { scratch } from '../../support/target-run.ts'

/** A drafter in z-lab's layout: what is read again is what was trained. */

const names = ['drafter_b8', 'drafter_b16', 'drafter_b8_sliding']

async function exported(t: TestContext, drafter: DrafterToExport, dtype: WeightType) {
  const dir = await scratch(t)
  await writeFolder(dir, zlabFiles(drafter, { dtype, card: '# card\n' }), { overwrite: false })
  return dir
}

async function weightsOf(dir: string) {
  const file = await openSafetensors(join(dir, 'model.safetensors'))
  const tensors = await Promise.all([...file.tensors.keys()].map((name) => readTensor(file, name)))
  return { file, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) }
}

for (const name of names) {
  test(`z-lab layout of ${name}: read again, the same bits and the same config`, async (t) => {
    const drafter = goldenDrafter(name)
    const dir = await exported(t, drafter, 'f32')
    const { config } = await openDrafter(dir)
    assert.deepEqual(config, drafter.config)
    const { file, tensors } = await weightsOf(dir)
    assert.equal(file.metadata.get('format'), 'pt')
    assert.equal(tensors.size, drafter.tensors.length)
    for (const { name, shape, values } of drafter.tensors) {
      const found = tensors.get(name)
      assert.ok(found, name)
      assert.deepEqual(found.shape, shape)
      assert.deepEqual(elements(found, 'F32'), values)
    }
  })

  test(`z-lab layout of ${name}: bfloat16 is the nearest, ties to even`, async (t) => {
    const drafter = goldenDrafter(name)
    const dir = await exported(t, drafter, 'bf16')
    await openDrafter(dir)
    const { tensors } = await weightsOf(dir)
    for (const { name, values } of drafter.tensors) {
      const found = tensors.get(name)
      assert.ok(found, name)
      const bits = elements(found, 'BF16')
      values.forEach((value, i) => {
        assert.equal(bits[i], nearestBfloat16(value), `${name}[${i}] = ${value}`)
      })
    }
  })
}

/** By what rounding means, and not by how it is computed: of the two around it, the closer one. */
function nearestBfloat16(value: number): number {
  const view = new DataView(new ArrayBuffer(4))
  const floatOf = (bits: number) => {
    view.setUint32(0, bits * 2 ** 16)
    return view.getFloat32(0)
  }
  view.setFloat32(0, value)
  const towardsZero = view.getUint16(0)
  const [below, above] = [towardsZero, towardsZero + 1].map((bits) =>
    Math.abs(floatOf(bits) - value),
  )
  if (below === above) return towardsZero % 2 === 0 ? towardsZero : towardsZero + 1
  return below < above ? towardsZero : towardsZero + 1
}

test('z-lab layout: config.json has the block’s size where each reader looks', async (t) => {
  const dir = await exported(t, goldenDrafter('drafter_b16'), 'bf16')
  const json = JSON.parse(await readFile(join(dir, 'config.json'), 'utf8'))
  assert.equal(json.block_size, 16)
  assert.equal(json.dflash_config.block_size, 16)
  assert.equal(json.dtype, 'bfloat16')
  assert.deepEqual(json.architectures, ['DFlashDraftModel'])
  assert.deepEqual(Object.keys(json), Object.keys(json).sort())
})

test('z-lab layout: maps of a draft vocabulary are in the file, as offsets (B20)', async (t) => {
  const vocab = new DraftVocab([0, 2, 5, 9], 12)
  const { config, ...drafter } = goldenDrafter('drafter_b8')
  const small = { ...config, vocabSize: 12, maskTokenId: 11, draftVocabSize: 4 }
  const head = Float32Array.from({ length: 4 * config.hiddenSize }, (_, i) => i / 256)
  for (const rows of [null, head]) {
    const whole = { ...drafter, config: small, draftVocab: vocab, head: rows }
    const dir = await exported(t, whole, 'bf16')
    const { tensors } = await weightsOf(dir)
    const [d2t, t2d, lmHead] = ['d2t', 't2d', 'lm_head.weight'].map((name) => tensors.get(name))
    assert.ok(d2t && t2d)
    assert.deepEqual([...elements(d2t, 'I64')], [0n, 1n, 3n, 6n])
    assert.deepEqual([...elements(t2d, 'BOOL')], [1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0])
    assert.deepEqual(lmHead?.shape, rows ? [4, config.hiddenSize] : undefined)
    assert.deepEqual((await openDrafter(dir)).draftVocab?.ids, [0, 2, 5, 9])
  }
  refuses({ ...drafter, config: small, draftVocab: null, head: null }, 'bf16', [
    'missing: d2t, t2d',
  ])
})

test('z-lab layout: tensors missing, left over or of another shape are all named', () => {
  const drafter = goldenDrafter('drafter_b8')
  const changed = drafter.tensors.flatMap((tensor) => {
    if (tensor.name === 'norm.weight') return []
    if (tensor.name === 'fc.weight') return [{ ...tensor, name: 'fc2.weight' }]
    return [tensor.name === 'hidden_norm.weight' ? { ...tensor, shape: [2, 32] } : tensor]
  })
  refuses({ ...drafter, tensors: changed }, 'bf16', [
    'where=drafter_b8',
    'missing: fc.weight, norm.weight',
    'extra: fc2.weight',
    'unfit: hidden_norm.weight',
  ])
})

test('z-lab layout: what is no number is refused, in bfloat16 alone too', () => {
  const drafter = goldenDrafter('drafter_b8')
  const withValue = (value: number): DrafterToExport => ({
    ...drafter,
    tensors: drafter.tensors.map((tensor) =>
      tensor.name === 'norm.weight'
        ? {
            ...tensor,
            values: Float32Array.from(tensor.values, (old, i) => (i === 3 ? value : old)),
          }
        : tensor,
    ),
  })
  refuses(withValue(Number.NaN), 'f32', ['from=drafter_b8', 'tensors=norm.weight'])
  refuses(withValue(3.4e38), 'bf16', ['dtype=bf16', 'tensors=norm.weight'])
  assert.equal(zlabFiles(withValue(3.4e38), { dtype: 'f32', card: '' }).length, 3)
})

function refuses(drafter: DrafterToExport, dtype: WeightType, words: readonly string[]): void {
  assert.throws(
    () => zlabFiles(drafter, { dtype, card: '' }),
    (error) => {
      assert.ok(isFailure(error, 'invalid'), String(error))
      for (const word of words) assert.ok(error.message.includes(word), `${error.message}: ${word}`)
      return true
    },
  )
}
