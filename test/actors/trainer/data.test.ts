import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TrainingData } from '../../../actors/trainer/data.ts'
import { OrderLog } from '../../../src/feed/order-log.ts'
import type { TrainingBatch } from '../../../src/feed/training-batch.ts'
import { rowOf } from '../../support/feed.ts'
import { loaderTree } from '../../support/loader-tree.ts'
import { startOf } from '../../support/trees.ts'

const rows = Array.from({ length: 80 }, (_, n) => rowOf(n, 100 + (n % 60)))

async function allOf(batches: AsyncIterable<TrainingBatch>): Promise<TrainingBatch[]> {
  const all: TrainingBatch[] = []
  for await (const batch of batches) all.push(batch)
  return all
}

test('trainer’s data: a loader that starts anew is begun anew, whoever asks', async (t) => {
  const train = { heldOut: 0.5, tokensPerBatch: 512 }
  const tree = await loaderTree(t, rows, { place: 'file', train })
  const data = new TrainingData(tree.loader)
  let lives = 1
  const killed = async () => {
    await tree.tree.kill('loader')
    await tree.until(startOf('loader', ++lives))
  }
  await data.begin('t', null)
  const record = await data.record()
  const held = await allOf(data.heldOut())
  assert.ok(held.length > 2)
  // Nobody asks for a batch any more once all are learnt from: the last checkpoint is still saved.
  await killed()
  assert.deepEqual(await data.record(), record)
  assert.equal(OrderLog.decode(record).training, 't')
  await killed()
  assert.deepEqual(await allOf(data.heldOut()), held)
  await killed()
  assert.equal(typeof (await data.next(0)), 'object')
})

test('trainer’s data: a loader that dies between held-out batches gives the rest', async (t) => {
  const train = { heldOut: 0.5, tokensPerBatch: 512 }
  const tree = await loaderTree(t, rows, { place: 'file', train })
  const data = new TrainingData(tree.loader)
  await data.begin('t', null)
  const whole = await allOf(data.heldOut())
  const found: TrainingBatch[] = []
  for await (const batch of data.heldOut()) {
    found.push(batch)
    if (found.length !== 1) continue
    await tree.tree.kill('loader')
    await tree.until(startOf('loader', 2))
  }
  assert.deepEqual(found, whole)
})
