import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type DatasetRow, writeDataset } from '../../src/dataset/write.ts'
import type { Job } from '../../supervisors/drills/rig/job.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { type S3Process, startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { layOutJob } from '../support/crash/job.ts'

/**
 * The crash window of an upload in parts (known-faults B26): paid for, and seen by nobody. The
 * dataset is larger than one put; a run reads its first rows alone.
 */

const shortRows = 6
const longRows = 40
const longTokens = 450_000
const key = 'dataset/data-00000-of-00001.arrow'
const terminated = 143

function* rows(): Generator<DatasetRow> {
  for (let row = 0; row < shortRows + longRows; row++) {
    const length = row < shortRows ? 10 + row : longTokens
    yield { inputIds: new Int32Array(length).fill(row), lossMask: new Uint8Array(length).fill(1) }
  }
}

async function layOutLargeJob(t: TestContext, s3?: S3Process): Promise<Job> {
  const job = await layOutJob(t, { rows: shortRows, ...(s3 && { s3 }) })
  const path = join(job.dir, 'large')
  const count = shortRows + longRows
  await writeDataset(path, { rows: rows(), count, rowsPerBatch: 4, shards: 1 })
  const config = JSON.parse(readFileSync(job.config, 'utf8'))
  config.dataset.path = path
  config.extract.limit = shortRows
  writeFileSync(job.config, JSON.stringify(config))
  return job
}

interface Left {
  /** Of each upload that is open: its key, and how many parts it has. */
  readonly open: readonly (readonly [string, number])[]
  readonly size: number | undefined
  readonly hasIndex: boolean
}

async function left(job: Job): Promise<Left> {
  const store = await job.openStore()
  try {
    const open: (readonly [string, number])[] = []
    for (const upload of await store.openMultiparts('')) {
      // It may end while it is looked at.
      const parts = await upload.listParts().catch(() => [])
      open.push([upload.key, parts.length])
    }
    const size = (await store.head(key))?.size
    return { open, size, hasIndex: (await store.head('dataset/index.json')) !== undefined }
  } finally {
    store.close()
  }
}

const nothing: Left = { open: [], size: undefined, hasIndex: false }

for (const kind of ['file', 's3'] as const) {
  test(`${kind}: an upload in parts that is cut short is aborted, or gone on with`, async (t) => {
    const s3 = kind === 's3' ? await startS3(t) : undefined
    const job = await layOutLargeJob(t, s3)

    const slow = { slow: { at: 'store.part-put', ms: 500 } }
    const stopped = start(t, ['run', job.config], { ...job, crash: slow })
    await stopped.until('a part', async () => {
      const [upload] = (await left(job)).open
      return upload && upload[1] > 0 ? upload : undefined
    })
    stopped.signal('SIGTERM')
    const { code, stderr } = await stopped.ended()
    assert.equal(code, terminated, stderr)
    assert.deepEqual(await left(job), nothing)

    const crash = { at: 'store.part-put', hit: 2, end: 'all' } as const
    const killed = await start(t, ['run', job.config], { ...job, crash }).ended()
    assert.equal(killed.signal, 'SIGKILL', killed.stderr)
    const { open, ...rest } = await left(job)
    assert.deepEqual([open.length, open[0]?.[0]], [1, key])
    assert.ok((open[0]?.[1] ?? 0) >= 2, 'the window was not met')
    assert.deepEqual(rest, { size: nothing.size, hasIndex: false })

    await leaveOrphans(job)
    const before = await s3?.stats()
    const again = await start(t, ['run', job.config, '--json'], job).ended()
    assert.equal(again.code, 0, again.stderr)
    assert.equal(JSON.parse(again.stdout).rows.committed, shortRows)
    const size = readFileSync(join(job.dir, 'large', 'data-00000-of-00001.arrow')).length
    assert.deepEqual(await left(job), { open: [], size, hasIndex: true })
    if (!before) return
    const after = await s3?.stats()
    const sent = (after?.requests.UploadPart ?? 0) - (before.requests.UploadPart ?? 0)
    assert.ok(sent <= Math.ceil(size / 2 ** 24) - 2, `parts sent again: ${sent}`)
  })
}

/** As starts with another dataset, or of another version, may have left them. */
async function leaveOrphans(job: Job): Promise<void> {
  const store = await job.openStore()
  for (const orphan of ['dataset/other', 'hidden-states/ab/x', 'checkpoints/1/x']) {
    await (await store.startMultipart(orphan)).putPart(1, Buffer.from('part'))
  }
  store.close()
}
