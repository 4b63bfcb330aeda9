import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { type DatasetRow, writeDataset } from '../../../src/dataset/write.ts'
import type { Tensor } from '../../../src/tensor/tensor.ts'
import { configOf, weightsOf, writeCheckpoint } from '../../support/checkpoint.ts'
import { assertReadable, draftsmith } from '../../support/commands/draftsmith.ts'
import { entriesIn } from '../../support/commands/finished-run.ts'
import { filesBelow, folder, goldenTarget, writeConfig } from '../../support/commands/golden-job.ts'

/** Every row ends as one thing, and the counts add up. */

const vocab = 320
const maxTokens = 20

const rowOf = (...ids: number[]): DatasetRow => ({
  inputIds: Int32Array.from(ids),
  lossMask: new Uint8Array(ids.length).fill(1),
})
const long = rowOf(...Array.from({ length: maxTokens + 1 }, (_, i) => i))
const unsupervised: DatasetRow = { inputIds: Int32Array.of(8, 9), lossMask: new Uint8Array(2) }

async function layOut(dir: string, rows: readonly DatasetRow[], target = goldenTarget()) {
  const path = join(dir, 'dataset')
  mkdirSync(path)
  await writeDataset(path, { rows, count: rows.length, shards: 1 })
  const settings = {
    dataset: { path },
    target: { path: target },
    extract: { dtype: 'bf16', tokenBudget: 64, maxTokens },
  }
  return writeConfig(dir, 'job', settings)
}

/** The golden target, in which one token's embedding is no number. */
async function poisonedTarget(dir: string, token: number): Promise<string> {
  const poison = (tensor: Tensor): Tensor => {
    if (tensor.name !== 'model.embed_tokens.weight') return tensor
    const data = Uint8Array.from(tensor.data)
    const nan = 0x7fc0
    new DataView(data.buffer).setUint16(token * tensor.shape[1] * 2, nan, true)
    return { ...tensor, data }
  }
  const golden = goldenTarget()
  return await writeCheckpoint(
    join(dir, 'poisoned'),
    configOf(golden),
    weightsOf(golden).map(poison),
  )
}

test('run: single bad rows are skipped or quarantined by reason, and all add up', async (t) => {
  const dir = folder(t)
  const poisonous = 77
  const rows = [
    rowOf(1, 2, 3),
    long,
    rowOf(4, 5),
    rowOf(),
    rowOf(1, 2, 3),
    rowOf(6, vocab, 7),
    unsupervised,
    rowOf(10, poisonous, 11),
    rowOf(vocab - 1),
    rowOf(vocab + 5),
  ]
  const config = await layOut(dir, rows, await poisonedTarget(dir, poisonous))
  const ended = await draftsmith(['run', config, '--json'], { dir })
  assert.equal(ended.code, 1, ended.stderr)
  assertReadable(ended)
  const told = JSON.parse(ended.stdout).rows
  assert.deepEqual(told, {
    rows: 10,
    examined: 10,
    skipped: {
      'too long': 1,
      empty: 1,
      'token id beyond vocabulary': 2,
      'no supervised token': 1,
    },
    repeated: 1,
    committed: 3,
    quarantined: 1,
    failed: 0,
  })
  const hash = contentHash(Int32Array.of(10, poisonous, 11)).toString('hex')
  const objects = filesBelow(join(dir, 'job', 'store', 'hidden-states'))
  assert.equal(objects.length, 3)
  assert.ok(!objects.some((key) => key.includes(hash)))
  assert.match(ended.stderr, new RegExp(`${hash}.*layer_0|layer_0.*${hash}`))

  const [again, verified] = await Promise.all([
    draftsmith(['run', config], { dir }),
    draftsmith(['verify', `file://${join(dir, 'job', 'store')}`], { dir }),
  ])
  assert.equal(again.code, 1, again.stderr)
  assert.match(again.stdout, /^Finished, but not whole: /)
  assert.match(again.stdout, /3 samples committed, 1 quarantined, 0 failed, 1 rows? repeat/)
  assert.match(again.stdout, /^Since this start: 0 samples/m)
  assert.equal(verified.code, 0)
  assert.match(verified.stdout, /1 samples? (is|are) quarantined/)

  const retried = await draftsmith(['retry-quarantined', config, '--json'], { dir })
  assert.equal(retried.code, 1, retried.stderr)
  assert.deepEqual(JSON.parse(retried.stdout).rows.quarantined, 1)
  const entries = await entriesIn(`file://${join(dir, 'job', 'store')}`)
  const { status, attempt } = entries.find((entry) => entry.hash === hash) ?? {}
  assert.deepEqual([status, attempt], ['quarantined', 1])
})

test('run: a dataset of which no row is usable ends with code 2, and says why', async (t) => {
  const dir = folder(t)
  const config = await layOut(dir, [long, rowOf(), unsupervised, rowOf(vocab)])
  const ended = await draftsmith(['run', config, '--json'], { dir })
  assert.equal(ended.code, 2, ended.stderr)
  const { reason, remedy, rows } = JSON.parse(ended.stdout)
  assert.match(reason, /^no row is usable. rows=4, skipped: /)
  for (const part of ['1 too long', '1 empty', '1 no supervised', '1 token id beyond']) {
    assert.ok(reason.includes(part), reason)
  }
  assert.match(remedy, /extract.maxTokens, dataset.columns/)
  assert.equal(rows.committed, 0)
  assert.match(ended.stderr, /"message":"no row is usable. rows=4/)
  assert.deepEqual(filesBelow(join(dir, 'job', 'store', 'hidden-states')), [])

  const checked = await draftsmith(['check', config], { dir })
  assert.equal(checked.code, 2)
  assert.match(checked.stdout, /^WRONG {2}dataset +no row is usable. rows=4, skipped: /m)
})
