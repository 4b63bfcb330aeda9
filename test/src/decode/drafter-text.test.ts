import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { rowOf } from '../../../src/decode/text.ts'
import { best } from '../../../src/decode/verify.ts'
import { isFailure } from '../../../src/failure.ts'
import { DraftVocab } from '../../../src/models/draft-vocab.ts'
import { float32Elements, type Tensor } from '../../../src/tensor/tensor.ts'
import { configOf, weightsOf, writeCheckpoint } from '../../support/checkpoint.ts'
import { decodingPair } from '../../support/decoding.ts'
import { golden } from '../../support/golden.ts'
import { maxAbsDiff, scratch } from '../../support/target-run.ts'
import {
  floatsOf,
  goldenTensors,
  integersOf,
  tensorOf,
  trainingCase,
} from '../../support/training/cases.ts'

/** Against z-lab's own forward passes: test/golden/dflash. */

const targetDir = golden('targets', 'qwen3_tied_f32')
const tolerance = 1e-4
const pairOf = (name: string) => ({ target: targetDir, drafter: golden('dflash', name) })

/** The head is the embedding: float32 [rows, hidden] → [rows, vocab]. */
function logitsOf(hidden: Float32Array): Float32Array {
  const table = weightsOf(targetDir).find(({ name }) => name === 'model.embed_tokens.weight')!
  const [vocab, width] = table.shape
  const head = float32Elements(table)
  return Float32Array.from({ length: (hidden.length / width) * vocab }, (_, i) => {
    const [row, id] = [Math.floor(i / vocab), i % vocab]
    let sum = 0
    for (let j = 0; j < width; j++) sum += hidden[row * width + j] * head[id * width + j]
    return sum
  })
}

for (const name of ['drafter_b8', 'drafter_b16']) {
  test(`drafter text ${name}: drafts as z-lab's module does, on any context`, async (t) => {
    const { drafter } = await decodingPair(t, pairOf(name))
    const file = goldenTensors(`forward_${name}.safetensors`)
    for (const tag of ['ctx1', 'ctx7', 'ctx30']) {
      const hidden = floatsOf(file, `${tag}.target_hidden`)
      const anchor = Number(integersOf(file, `${tag}.block_ids`)[0])
      const { data, vocabSize } = await drafter.text(30).propose(hidden, anchor)
      const want = floatsOf(file, `${tag}.logits`).subarray(vocabSize)
      assert.ok(maxAbsDiff(data, want) < tolerance, tag)
    }
  })

  test(`drafter text ${name}: a second block stands on the context alone`, async (t) => {
    const { drafter } = await decodingPair(t, pairOf(name))
    const file = goldenTensors(`forward_${name}.safetensors`)
    const ids = Array.from(integersOf(file, 'cached.ids'), Number)
    const hidden = floatsOf(file, 'cached.target_hidden')
    const [rows, width] = tensorOf(file, 'cached.target_hidden').shape
    const first = rows - 3
    const text = drafter.text(rows)
    for (const [block, from, to] of [
      ['first', 0, first],
      ['second', first, rows],
    ] as const) {
      const part = hidden.subarray(from * width, to * width)
      const { data, vocabSize } = await text.propose(part, ids[to])
      const want = logitsOf(floatsOf(file, `cached.${block}_block_hidden`)).subarray(vocabSize)
      assert.ok(maxAbsDiff(data, want) < tolerance, block)
    }
    // Nothing new: another anchor on the same context.
    const again = await text.propose(new Float32Array(0), ids[rows])
    const want = logitsOf(floatsOf(file, 'cached.second_block_hidden'))
    assert.ok(maxAbsDiff(again.data, want.subarray(again.vocabSize)) < tolerance)
    await assert.rejects(text.propose(hidden.subarray(0, width), 1), (error) =>
      isFailure(error, 'invalid'),
    )
  })
}

for (const name of ['A_b8_gamma4', 'A_b8_sliding_gamma4', 'C_b16_gamma7']) {
  test(`drafter text: drafts after a sample's tokens as in training, case ${name}`, async (t) => {
    const { expected, file, hidden, config } = trainingCase(name)
    const { drafter } = await decodingPair(t, pairOf(expected.drafter))
    const ids = Array.from(integersOf(file, 'input_ids'), Number)
    const predicted = Array.from(integersOf(file, 'predicted_ids'), Number)
    const anchors = Array.from(integersOf(file, 'anchors'), Number)
    const width = hidden.length / ids.length
    for (const [n, anchor] of anchors.entries()) {
      const text = drafter.text(ids.length)
      const own = predicted.slice(n * config.blockSize, (n + 1) * config.blockSize)
      const logits = await text.propose(hidden.subarray(0, anchor * width), ids[anchor])
      for (let k = 1; k < config.blockSize; k++) {
        assert.equal(best(rowOf(logits, k - 1)).id, own[k], `anchor ${anchor}, slot ${k}`)
      }
    }
  })
}

test('drafter text: with a draft vocabulary, the best token that it can draft', async (t) => {
  const original = golden('dflash', 'drafter_b8_overfit')
  const ids = Array.from({ length: 107 }, (_, i) => 3 * i)
  const { d2t, t2d } = new DraftVocab(ids, 320).maps()
  const maps: Tensor[] = [
    { name: 'd2t', dtype: 'I64', shape: [d2t.length], data: new Uint8Array(d2t.buffer) },
    { name: 't2d', dtype: 'BOOL', shape: [t2d.length], data: t2d },
  ]
  const config = { ...configOf(original), draft_vocab_size: ids.length }
  const tensors = [...weightsOf(original), ...maps]
  const dir = await writeCheckpoint(join(await scratch(t), 'pruned'), config, tensors)
  const pruned = await decodingPair(t, { target: targetDir, drafter: dir })
  const whole = await decodingPair(t, pairOf('drafter_b8_overfit'))
  const hidden = floatsOf(goldenTensors('forward_drafter_b8.safetensors'), 'ctx7.target_hidden')
  const all = await whole.drafter.text(7).propose(hidden, 30)
  const want = Array.from({ length: 7 }, (_, i) => {
    const row = rowOf(all, i).map((value, id) => (id % 3 === 0 ? value : -1e30))
    return best(row).id
  })
  assert.deepEqual(await pruned.drafter.text(7).draft(hidden, 30), want)
})
