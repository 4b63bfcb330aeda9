/** What a training refuses to go on from, and that it says why. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { differences, type Expected } from '../../../src/checkpoint/accept.ts'
import { fileKey } from '../../../src/checkpoint/names.ts'
import { restoreNewest } from '../../../src/checkpoint/restore.ts'
import { saveCheckpoint } from '../../../src/checkpoint/save.ts'
import { modelTensors, optimizerTensors } from '../../../src/checkpoint/tensors.ts'
import { DraftVocab } from '../../../src/models/draft-vocab.ts'
import { encodeSafetensors, type TensorToWrite } from '../../../src/safetensors/write.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import {
  drafter,
  expected,
  now,
  saved,
  shapes,
  target,
  trainedAt,
  training,
  writerId,
} from './trained.ts'

const refused = async (store: MemoryStore, wanted: Expected, message: RegExp): Promise<void> =>
  assert.rejects(restoreNewest(store, { training, expected: wanted }), { kind: 'invalid', message })

test('refused: another drafter, another target: each value that differs is named', async () => {
  const store = new MemoryStore()
  await saved(store, trainedAt(10))
  const other = { ...drafter, block_size: 8, dflash_config: { mask_token_id: 9, extra: true } }
  const lines = [
    /drafter\.block_size: checkpoint=16, now=8\n/,
    /drafter\.dflash_config\.mask_token_id: checkpoint=255, now=9\n/,
    /drafter\.dflash_config\.extra: checkpoint=null, now=true$/,
  ]
  for (const line of lines) await refused(store, { ...expected, drafter: other }, line)
  const fingerprint = /target\.fingerprint: checkpoint="a-target", now="b"$/
  await refused(store, { ...expected, target: { ...target, fingerprint: 'b' } }, fingerprint)
})

test('differences: none in what is equal, whatever the order of its keys', () => {
  assert.deepEqual(differences({ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, 'x'), [])
  assert.deepEqual(differences({ a: [1, 2] }, { a: [2, 1] }, 'x'), [
    'x.a: checkpoint=[1,2], now=[2,1]',
  ])
})

test('refused: tensors that are missing, left over or of another shape are named', async () => {
  const store = new MemoryStore()
  await saved(store, trainedAt(10))
  const [fc, up, norm] = shapes
  const wanted = [{ ...fc, shape: [4, 6] }, norm, { name: 'new.weight', shape: [2] }]
  const lines = [
    /model\.safetensors: fc\.weight: want=F32 \[4,6\], found=F32 \[6,4\]/,
    /model\.safetensors lacks new\.weight/,
    /model\.safetensors has layers\.0\.mlp\.up_proj\.weight, which is no parameter/,
    /optimizer\.safetensors: m\.fc\.weight: want=F32 \[4,6\], found=F32 \[6,4\]/,
    /optimizer\.safetensors lacks v\.new\.weight/,
    /and 1 more$/,
  ]
  for (const line of lines) await refused(store, { ...expected, tensors: wanted }, line)
  assert.equal(up.name, 'layers.0.mlp.up_proj.weight')
})

/** A complete checkpoint whose files hold what no checkpointer would put there. */
async function withFiles(model: TensorToWrite[], optimizer: TensorToWrite[]): Promise<MemoryStore> {
  const store = new MemoryStore()
  const { name, state } = await saveCheckpoint(store, trainedAt(10), { writer: writerId(0), now })
  const files = { model: encodeSafetensors(model), optimizer: encodeSafetensors(optimizer) }
  const told: Record<string, object> = {}
  for (const file of ['model', 'optimizer'] as const) {
    const bytes = Buffer.concat(files[file])
    await store.put(fileKey(name, file), bytes)
    told[file] = { bytes: bytes.length, crc32: crc32(bytes) }
  }
  await store.put(fileKey(name, 'state'), Buffer.from(JSON.stringify({ ...state, files: told })))
  return store
}

test('refused: NaN or infinity in a parameter or a moment, named', async () => {
  const { tensors } = trainedAt(10)
  tensors[0].value[3] = Number.NaN
  tensors[2].m[1] = Number.NEGATIVE_INFINITY
  const store = await withFiles(modelTensors(tensors), optimizerTensors(tensors))
  await refused(store, expected, /holds NaN or infinity.*tensors=fc\.weight, m\.norm\.weight$/)
})

test('refused: parameters of another type', async () => {
  const { tensors } = trainedAt(10)
  const model = modelTensors(tensors).map((tensor) => ({ ...tensor }))
  model[0] = { name: 'fc.weight', shape: [6, 4], dtype: 'BF16', data: new Uint8Array(48) }
  const store = await withFiles(model, optimizerTensors(tensors))
  await refused(store, expected, /fc\.weight: want=F32 \[6,4\], found=BF16 \[6,4\]/)
})

test('a draft vocabulary goes with the parameters; another one, or none, is refused', async () => {
  const maps = new DraftVocab([0, 2, 5], 8).maps()
  const store = new MemoryStore()
  await saveCheckpoint(store, { ...trainedAt(10), maps }, { writer: writerId(0), now })
  const found = await restoreNewest(store, { training, expected: { ...expected, maps } })
  assert.equal(found?.checkpoint.step, 10)
  await refused(store, expected, /model\.safetensors: d2t is of another draft vocabulary/)
  const other = new DraftVocab([0, 2, 6], 8).maps()
  await refused(store, { ...expected, maps: other }, /t2d is of another draft vocabulary/)
  const without = new MemoryStore()
  await saveCheckpoint(without, trainedAt(10), { writer: writerId(0), now })
  await refused(without, { ...expected, maps }, /d2t is of another draft vocabulary/)
})
