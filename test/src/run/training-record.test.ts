import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { claimTraining, type TrainingWanted } from '../../../src/run/training-record.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { drafterConfig } from '../../support/training/cases.ts'

const wanted = (of: Partial<TrainingWanted> & { readonly id: string }): TrainingWanted => ({
  drafter: drafterConfig('drafter_b8'),
  anew: false,
  from: null,
  chooseVocab: async () => assert.fail('nobody asked for a draft vocabulary'),
  ...of,
})

test('training record: one is begun, and found again by whoever goes on', async () => {
  const store = new MemoryStore()
  const begun = await claimTraining(store, wanted({ id: 'first' }))
  assert.deepEqual(begun, { format: 1, training: 'first', draftVocab: null, from: null })
  assert.deepEqual(await claimTraining(store, wanted({ id: 'second' })), begun)
})

test('training record: another is begun once for each time that it is asked for', async () => {
  const store = new MemoryStore()
  await claimTraining(store, wanted({ id: 'first' }))
  for (const start of [{ anew: true }, { from: '00000010-somewhere' }]) {
    const id = Object.keys(start)[0] ?? ''
    const begun = await claimTraining(store, wanted({ id, ...start }))
    assert.deepEqual([begun.training, begun.from], [id, start.from ?? null])
    // The process has died and serves the same call again: what it has begun goes on.
    assert.deepEqual(await claimTraining(store, wanted({ id, ...start })), begun)
    assert.deepEqual(await claimTraining(store, wanted({ id: 'later' })), begun)
    const again = await claimTraining(store, wanted({ id: `${id} again`, ...start }))
    assert.equal(again.training, `${id} again`)
  }
})

test('training record: one that cannot be read is not taken for none', async () => {
  const store = new MemoryStore()
  await store.put('drafter/training.json', Buffer.from('{"format":1}'))
  await assert.rejects(claimTraining(store, wanted({ id: 'first' })), (error) =>
    isFailure(error, 'corrupt'),
  )
})
