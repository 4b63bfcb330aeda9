import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  isHalf,
  listCheckpoints,
  lookInto,
  type WholeCheckpoint,
} from '../../../src/checkpoint/list.ts'
import { fileKey } from '../../../src/checkpoint/names.ts'
import { readTensors } from '../../../src/checkpoint/read-tensors.ts'
import type { Job } from '../../../supervisors/drills/rig/job.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { layOutJob } from '../../support/crash/job.ts'

/** Going on from a checkpoint that is named, of an earlier training with another drafter. */

const first = {
  ...{ epochs: 1, layers: 1, blockSize: 4, anchors: 4, lr: 1e-3, heldOut: 0.1 },
  ...{ tokensPerStep: 256, tokensPerBatch: 256, draftVocab: 100 },
}
const second = { ...first, blockSize: 8, draftVocab: 60, layers: 2 }

async function checkpoints({ openStore }: Job): Promise<WholeCheckpoint[]> {
  const store = await openStore()
  const found = await Promise.all(
    (await listCheckpoints(store)).map((folder) => lookInto(store, folder)),
  )
  return found.flatMap((one) => (isHalf(one) ? [] : [one]))
}

async function draftVocabIn({ openStore }: Job, { name, state }: WholeCheckpoint) {
  const tensors = await readTensors(await openStore(), fileKey(name, 'model'), state.files.model)
  return tensors.filter(({ name: of }) => of === 'd2t' || of === 't2d').map(({ data }) => data)
}

const inStore = (job: Job, key: string): string =>
  readFileSync(`${fileURLToPath(job.storeUrl)}/${key}`, 'utf8')

test('train --from: the drafter is the named checkpoint’s, its vocabulary too', async (t) => {
  const job = await layOutJob(t, { rows: 20, tokens: { min: 20, max: 40 }, train: first })
  const config = JSON.parse(readFileSync(job.config, 'utf8'))
  const trains = async (train: object, args: readonly string[] = []) => {
    writeFileSync(job.config, JSON.stringify({ ...config, train }))
    return await start(t, ['train', job.config, ...args], job).ended()
  }
  const begun = await start(t, ['run', job.config], job).ended()
  assert.equal(begun.code, 0, begun.stderr)
  const [named] = (await checkpoints(job)).slice(-1)
  const other = await trains(second, ['--new'])
  assert.equal(other.code, 0, other.stderr)
  assert.equal(JSON.parse(inStore(job, 'drafter/config.json')).block_size, 8)

  const goesOn = await trains({ ...second, epochs: 2 }, ['--from', named.name])
  assert.equal(goesOn.code, 0, goesOn.stderr)
  for (const told of ['blockSize: training=4, now=8', 'draftVocab: training=100, now=60']) {
    assert.ok(goesOn.stderr.includes(`train.${told}`), goesOn.stderr)
  }
  const record = JSON.parse(inStore(job, 'drafter/training.json'))
  const [last] = (await checkpoints(job)).filter(({ state }) => state.training === record.training)
  assert.ok(last.step > named.step)
  assert.deepEqual(last.state.drafter, named.state.drafter)
  assert.deepEqual(await draftVocabIn(job, last), await draftVocabIn(job, named))
  assert.equal(JSON.parse(inStore(job, 'drafter/config.json')).block_size, 4)
  assert.match(inStore(job, 'config.yaml'), /blockSize: 4/)

  const refused = await trains({ ...second, epochs: 2 })
  assert.equal(refused.code, 2, refused.stderr)
  assert.ok(refused.stderr.includes('train.blockSize: training=4, now=8'), refused.stderr)
  const args = ['train', job.storeUrl, '--work', job.work, '--target', job.target]
  const alone = await start(t, args, job).ended()
  assert.equal(alone.code, 0, alone.stderr)
  assert.equal(readdirSync(`${fileURLToPath(job.storeUrl)}/checkpoints`).includes(last.name), true)
})
