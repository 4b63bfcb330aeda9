import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { parseTargetConfig } from '../../../src/models/config.ts'
import { parseDrafterConfig } from '../../../src/models/drafter-config.ts'
import {
  captureSlots,
  drafterConfigOf,
  requireSameTarget,
} from '../../../src/models/drafter-fit.ts'
import { goldenJson } from '../../support/golden.ts'

const target = parseTargetConfig(
  goldenJson('targets', 'qwen3_tied_f32', 'config.json'),
  'config.json',
)
const drafter = parseDrafterConfig(goldenJson('dflash', 'drafter_b8', 'config.json'), 'config.json')
const choice = {
  layers: 5,
  blockSize: 16,
  targetLayerIds: [0, 1, 2, 3, 4],
  slidingWindow: null,
  draftVocabSize: null,
  maskTokenId: null,
}

const refuses = (act: () => unknown, ...words: readonly string[]) =>
  assert.throws(act, (error) => {
    assert.ok(isFailure(error, 'invalid'), String(error))
    for (const word of words) assert.ok(error.message.includes(word), `${error.message}: ${word}`)
    return true
  })

test('drafter of a target: its widths, its rope, its last id for the mask', () => {
  const config = drafterConfigOf(target, choice)
  requireSameTarget(config, target)
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, rope } = config
  assert.deepEqual(
    { hiddenSize, intermediateSize, heads, kvHeads, headDim, rope },
    {
      hiddenSize: target.hiddenSize,
      intermediateSize: target.intermediateSize,
      heads: target.heads,
      kvHeads: target.kvHeads,
      headDim: target.headDim,
      rope: target.rope,
    },
  )
  assert.equal(config.maskTokenId, 319)
  assert.equal(drafterConfigOf(target, { ...choice, maskTokenId: 0 }).maskTokenId, 0)
  assert.equal(config.slidingWindow, null)
  assert.ok(config.layerTypes.every((type) => type === 'full_attention'))
})

test('drafter of a target: with a window all layers but the last slide', () => {
  const types = (layers: number) =>
    drafterConfigOf(target, { ...choice, layers, slidingWindow: 64 }).layerTypes.map(
      (type) => type === 'sliding_attention',
    )
  assert.deepEqual(types(3), [true, true, false])
  assert.deepEqual(types(1), [true])
})

test('drafter of a target: a choice that does not go with it is refused', () => {
  const make = (change: object) => () => drafterConfigOf(target, { ...choice, ...change })
  refuses(make({ blockSize: 1 }), 'block_size: want=2 or more')
  refuses(make({ maskTokenId: 320 }), 'mask_token_id: want=an id below vocab_size 320')
  refuses(make({ targetLayerIds: [1, 9] }), 'the target has 6 layers, found=[1, 9]')
  refuses(make({ draftVocabSize: 1000 }), 'draft_vocab_size')
})

test('drafter of another target: each value that differs is named', () => {
  requireSameTarget(drafter, target)
  refuses(
    () => requireSameTarget(drafter, { hiddenSize: 64, vocabSize: 300, layers: 36 }),
    'vocab_size: want=300, found=320',
    'num_target_layers: want=36, found=6',
  )
})

test('captures: the places of the layers that a drafter looks at, or which are not there', () => {
  assert.deepEqual(captureSlots(drafter, [0, 1, 2, 3, 4]), [0, 1, 2, 3, 4])
  assert.deepEqual(captureSlots(drafter, [4, 3, 5, 2, 1, 0]), [5, 4, 3, 1, 0])
  refuses(() => captureSlots(drafter, [0, 2, 3]), 'missing=[1, 4]')
})
