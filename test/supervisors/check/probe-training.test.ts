import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from '../../../src/config/load.ts'
import { isFailure } from '../../../src/failure.ts'
import { lookAtTraining } from '../../../supervisors/check/probe-training.ts'
import { targetOf } from '../../../supervisors/run/preflight.ts'
import { golden } from '../../support/golden.ts'

/** What `check` says of a training: tried in miniature, reckoned at full size. */

async function look(train: object, options: { memory?: number; captureFinal?: boolean } = {}) {
  const { memory = 1e12, captureFinal = false } = options
  const text = JSON.stringify({
    ...{ store: 's3://bucket/run', work: 'work', dataset: { path: 'dataset' } },
    target: { path: golden('targets', 'qwen3_tied_bf16'), layers: [1, 2], captureFinal },
    train,
  })
  const { config } = parseConfig(text, { name: 'test', base: '/' })
  return await lookAtTraining(config, await targetOf(config), memory)
}

test('check: a training takes a step in miniature, whatever it is set to', async () => {
  for (const train of [
    { layers: 3, blockSize: 8 },
    { layers: 3, blockSize: 16, slidingWindow: 4, recompute: true, draftVocab: 64 },
    { layers: 1, blockSize: 64, anchorRule: 'whole-block', anchors: 1, normalize: 'batch' },
    { layers: 1, blockSize: 8, anchorRule: 'before-last-block', distill: { weight: 0.5 } },
  ]) {
    const [found, , note] = await look(train, { captureFinal: 'distill' in train })
    assert.match(found, /^cpu: takes a step of a drafter of this kind in miniature \(loss \d/)
    assert.match(found, /at its own size nothing was tried/)
    assert.equal(note, undefined)
  }
})

test('check: a training whose memory is not there is noted, with what it takes', async () => {
  const [found, , note] = await look({ layers: 1, tokensPerStep: 65_536 }, { memory: 17e6 })
  // 65,536 tokens of two states of 64 numbers, two bytes each.
  assert.match(found, /16(\.\d+)? M\w+ of hidden states for a step/)
  assert.match(found, /which was not measured, and what is read ahead, 8(\.0)? GB at most$/)
  assert.match(note ?? '', /this machine gives 17(\.0)? MB: lower train.layers/)
})

test('check: a training that cannot begin is refused for what a run would refuse', async () => {
  const refused = async (train: object, says: RegExp) =>
    await assert.rejects(look(train), (error) => {
      return isFailure(error, 'invalid') && says.test(error.message)
    })
  await refused({ distill: { weight: 0.5 } }, /distillation wants what target.captureFinal keeps/)
  await refused({ devices: ['cpu', 'cpu'] }, /one device trains/)
  await refused({ maskTokenId: 320 }, /mask_token_id: want=an id below vocab_size 320, found=320/)
  await refused({ devices: ['cuda:7'] }, /device cannot be used. device=cuda:7/)
})
