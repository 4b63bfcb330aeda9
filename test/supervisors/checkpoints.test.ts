/** The real checkpointer and ledger, on threads, with a toy that trains and an S3 server. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { checkpointerContract } from '../../protocol/checkpointer.ts'
import { sleep } from '../../src/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { credentials, startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { toyContract } from '../support/checkpointing/toy-contract.ts'
import { toyTree } from '../support/checkpointing/toy-tree.ts'
import { scratch } from '../support/target-run.ts'
import { plant, startOf } from '../support/trees.ts'

/** Against hangs. */
const endMs = 120_000
const always = 1_000_000
const partPuts = { operation: 'UploadPart' }
/** A request that a test holds must not be given up because the machine is slow. */
const patient = { connectMs: 60_000, idleMs: 110_000, attemptMs: 110_000 }

async function training(t: TestContext, maxParallel: number) {
  const s3 = await startS3(t)
  Object.assign(process.env, credentials)
  const work = join(await scratch(t), 'work')
  mkdirSync(work)
  const options = { endpoint: s3.endpoint, region: 'us-east-1', timeouts: patient }
  const place = { url: 's3://draftsmith/run', s3: options }
  const keep = { last: 3, every: null }
  const planted = plant(t, toyTree({ work, place, keep, maxParallel }))
  const trainer = planted.tree.client('trainer', toyContract)
  const checkpointer = planted.tree.client('checkpointer', checkpointerContract)
  const store = await openStore(place.url, place.s3, { env: credentials })
  t.after(() => store.close())
  await planted.tree.start()
  const when = async (what: string, is: () => Promise<boolean>) => {
    for (const deadline = Date.now() + endMs; !(await is()); await sleep(20)) {
      assert.ok(Date.now() < deadline, `it never came: ${what}`)
    }
  }
  return { ...planted, s3, trainer, checkpointer, store, when }
}

test('checkpoints: training goes on while a checkpoint is sent, under the permits', async (t) => {
  const { s3, trainer, checkpointer, when } = await training(t, 3)
  await trainer.ask.trainTo(2)
  await s3.setFaults([{ kind: 'hold', times: always, match: partPuts }])
  const saving = checkpointer.ask.save()
  await when('two parts are under way', async () => (await s3.stats()).open === 2)
  await trainer.ask.trainTo(6)
  assert.equal((await checkpointer.ask.status()).state, 'sending')
  const next = [checkpointer.ask.save(), checkpointer.ask.save()]
  await s3.setFaults([])
  assert.equal((await saving)?.step, 2)
  const [one, same] = await Promise.all(next)
  assert.deepEqual([one?.step, one], [6, same])
  const { peak } = await s3.stats()
  assert.ok(peak <= 3, `peak=${peak}`)
})

test('checkpoints: a checkpointer that is killed in mid-upload leaves nothing', async (t) => {
  const { s3, store, tree, trainer, checkpointer, until, when } = await training(t, 8)
  await trainer.ask.trainTo(2)
  await s3.setFaults([{ kind: 'hold', times: always, match: partPuts }])
  // Who asked is answered by the next life.
  const saving = checkpointer.again((ask) => ask.save())
  await when('parts are under way', async () => (await s3.stats()).open >= 2)
  await tree.kill('checkpointer')
  await until(startOf('checkpointer', 2))
  await s3.setFaults([])
  assert.equal((await saving)?.step, 2)
  assert.deepEqual(await store.openMultiparts(''), [])
  await tree.kill('trainer')
  await until(startOf('trainer', 2))
  assert.equal((await trainer.ask.standing()).restoredAt, 2)
})

test('checkpoints: the drain saves the last steps, and the ledger waits for it', async (t) => {
  const { store, tree, trainer, checkpointer } = await training(t, 8)
  await trainer.ask.trainTo(3)
  assert.equal((await checkpointer.ask.save())?.step, 3)
  await trainer.ask.trainTo(5)
  await tree.stop()
  const hint = JSON.parse(String(await store.get('checkpoints/latest.json')))
  assert.equal(hint.step, 5)
})
