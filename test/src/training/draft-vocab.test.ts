/** A drafter that drafts from part of the vocabulary: trained, written and read, run. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { draftGraph } from '../../../src/models/draft-graph.ts'
import { DraftVocab } from '../../../src/models/draft-vocab.ts'
import { openDrafter } from '../../../src/models/drafter.ts'
import { drafterConfigJson } from '../../../src/models/drafter-config-json.ts'
import { frozenNames } from '../../../src/models/frozen.ts'
import { openTarget } from '../../../src/models/target.ts'
import { encodeSafetensors } from '../../../src/safetensors/write.ts'
import { prepareModel } from '../../../src/session/prepare.ts'
import { openSession } from '../../../src/session/session.ts'
import { layBlocks } from '../../../src/training/blocks.ts'
import { draftHeadName, lossGraph } from '../../../src/training/loss-graph.ts'
import { golden } from '../../support/golden.ts'
import { runnable } from '../../support/run-graph.ts'
import { maxAbsDiff, scratch } from '../../support/target-run.ts'
import {
  drafterConfig,
  drafterOf,
  floatsOf,
  goldenTensors,
  integersOf,
  trainingCase,
} from '../../support/training/cases.ts'
import { goldenFrozen } from '../../support/training/frozen.ts'

const bytes = ({ buffer, byteOffset, byteLength }: BigInt64Array | Uint8Array) =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** Every token but those of odd ids below 100. */
const kept = new DraftVocab(
  Array.from({ length: 320 }, (_, id) => id).filter((id) => id > 100 || id % 2 === 0),
  320,
)

/** Writes the golden drafter as one of the draft vocabulary; `maps` in place of its own. */
async function writePruned(dir: string, maps = kept.maps()): Promise<void> {
  const config = { ...drafterConfig('drafter_b8'), draftVocabSize: kept.ids.length }
  await writeFile(join(dir, 'config.json'), JSON.stringify(drafterConfigJson(config, 'float32')))
  const { tensors } = goldenTensors('drafter_b8', 'model.safetensors')
  const parts = encodeSafetensors([
    ...tensors.values(),
    { name: 'd2t', dtype: 'I64', shape: [maps.d2t.length], data: bytes(maps.d2t) },
    { name: 't2d', dtype: 'BOOL', shape: [maps.t2d.length], data: bytes(maps.t2d) },
  ])
  await writeFile(join(dir, 'model.safetensors'), Buffer.concat(parts))
}

test('draft vocabulary: read from a checkpoint, it leaves only its own tokens', async (t) => {
  const dir = await scratch(t)
  await writePruned(dir)
  const drafter = await openDrafter(dir)
  assert.deepEqual(drafter.draftVocab?.ids, kept.ids)
  const graph = draftGraph(drafter, await openTarget(golden('targets', 'qwen3_tied_f32')))
  const session = await openSession(await prepareModel(graph, await scratch(t), () => {}), {
    device: 'cpu',
    threads: 1,
  })
  t.after(() => session.release())
  const file = goldenTensors('forward_drafter_b8.safetensors')
  const none = { dtype: 'F32', shape: [0, 48], data: new Float32Array() } as const
  const pasts = [0, 1, 2].flatMap((i) => [`past_key_${i}`, `past_value_${i}`])
  const hidden = floatsOf(file, 'ctx7.target_hidden')
  const { logits } = await session.run({
    ...Object.fromEntries(pasts.map((name) => [name, none])),
    context: { dtype: 'F32', shape: [7, 320], data: hidden },
    anchor: { dtype: 'I64', shape: [1], data: integersOf(file, 'ctx7.block_ids').slice(0, 1) },
  })
  const want = floatsOf(file, 'ctx7.logits').subarray(320)
  assert.ok(logits.data instanceof Float32Array)
  const masked = want.map((logit, i) => (kept.placeOf(i % 320) < 0 ? -1e30 : logit))
  const near = logits.data.map((logit, i) => (masked[i] < -1e29 ? masked[i] : logit))
  assert.ok(maxAbsDiff(near, masked) <= 1e-4)
  assert.ok(logits.data.every((logit, i) => kept.placeOf(i % 320) >= 0 || logit < -1e29))
})

test('draft vocabulary: a checkpoint without its maps, or with others, is refused', async (t) => {
  const dir = await scratch(t)
  const { d2t, t2d } = kept.maps()
  await writePruned(dir, { d2t, t2d: t2d.with(101, 0) })
  await assert.rejects(openDrafter(dir), (error) => isFailure(error, 'invalid'))
  const { tensors } = goldenTensors('drafter_b8', 'model.safetensors')
  await writeFile(
    join(dir, 'model.safetensors'),
    Buffer.concat(encodeSafetensors([...tensors.values()])),
  )
  await assert.rejects(
    openDrafter(dir),
    (error) => isFailure(error, 'invalid') && error.message.includes('missing: d2t, t2d'),
  )
})

test('draft vocabulary: the loss is over its tokens; others have no weight', async () => {
  const at = trainingCase('A_b8_gamma4')
  const { batch, drawn, blocks, hidden } = at
  const config = { ...at.config, draftVocabSize: kept.ids.length }
  const blockSize = config.blockSize
  const laid = layBlocks(batch, drawn, { blocks, blockSize, gamma: 4, draftVocab: kept })
  const head = goldenFrozen()[frozenNames(true).head]
  const graph = lossGraph(config, {
    shape: { ...batch.shape, blocks },
    dtype: 'f32',
    tiedEmbeddings: true,
    frozen: 'inputs',
    chunkBytes: 2 ** 20,
    recompute: false,
    learns: false,
    distillation: null,
  })
  const { anchors, labels, weights } = laid
  const found = await (await runnable(graph))({
    ...drafterOf(at),
    ...goldenFrozen(),
    [draftHeadName]: kept.rowsOf(head),
    ...{ hidden, anchors, labels, weights },
  })
  const states = floatsOf(at.file, 'draft_hidden')
  const slots = Array.from(integersOf(at.file, 'labels'), Number).flatMap((label, i) =>
    i % blockSize === 0 ? [] : [{ label, i }],
  )
  for (const [place, { label, i }] of slots.entries()) {
    const isIn = kept.placeOf(label) >= 0
    assert.equal(laid.weights[i] > 0, isIn)
    assert.equal(laid.supervised[i], 1)
    if (!isIn) continue
    const logitOf = (id: number) =>
      head
        .subarray(id * 64, (id + 1) * 64)
        .reduce((sum, weight, j) => sum + weight * states[i * 64 + j], 0)
    const total = kept.ids.reduce((sum, id) => sum + Math.exp(logitOf(id)), 0)
    const want = Math.log(total) - logitOf(label)
    assert.ok(Math.abs(Number(found.cross_entropy[place]) - want) < 1e-4, `slot ${i}`)
  }
  assert.ok(slots.some(({ label }) => kept.placeOf(label) < 0))
})
