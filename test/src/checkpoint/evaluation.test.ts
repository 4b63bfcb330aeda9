import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type KeptEvaluation,
  keepEvaluation,
  keptEvaluation,
} from '../../../src/checkpoint/evaluation.ts'
import { listCheckpoints, lookInto } from '../../../src/checkpoint/list.ts'
import { isFailure } from '../../../src/failure.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { saved, trainedAt } from './trained.ts'

const evaluation: KeptEvaluation = {
  evaluatedAt: '2026-12-01T00:00:00.000Z',
  ...{ tau: 2.5, interval: [2, 3], meanOfPrompts: 2.4, prompts: 12, steps: 90 },
  ...{ promptsFrom: 'a file', maxNewTokens: 256, temperature: 0, seed: 0, changed: 0 },
}

test('evaluation: the last is kept beside its checkpoint, which stays whole', async () => {
  const store = new MemoryStore()
  const name = await saved(store, trainedAt(10))
  assert.equal(await keptEvaluation(store, name), undefined)
  assert.equal(await keepEvaluation(store, name, evaluation), true)
  assert.equal(await keepEvaluation(store, name, { ...evaluation, tau: 3 }), true)
  assert.deepEqual(await keptEvaluation(store, name), { ...evaluation, tau: 3 })
  const [folder, ...more] = await listCheckpoints(store)
  assert.deepEqual(more, [])
  assert.equal((await lookInto(store, folder)).name, name)
})

test('evaluation: of a checkpoint that is gone nothing is put', async () => {
  const store = new MemoryStore()
  assert.equal(await keepEvaluation(store, '00000010-x', evaluation), false)
  assert.deepEqual((await store.listPage({ prefix: '' })).objects, [])
})

test('evaluation: what cannot be read is told by its key', async () => {
  const store = new MemoryStore()
  const name = await saved(store, trainedAt(10))
  for (const text of ['{', '{"format":2}']) {
    await store.put(`checkpoints/${name}/eval.json`, Buffer.from(text))
    await assert.rejects(keptEvaluation(store, name), (error) => {
      return isFailure(error, 'corrupt') && /key=checkpoints\/.*\/eval\.json/.test(error.message)
    })
  }
})
