import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entryKey } from '../../src/manifest/entry.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { listed, union, windowsOf } from '../../supervisors/drills/rig/stored.ts'
import { layOutJob } from '../support/crash/job.ts'

/** As others met it (Model-Optimizer #2080): finished files were all written anew at a resume. */

test('killed at half of 200 rows: the next run computes the missing alone', async (t) => {
  const job = await layOutJob(t, { rows: 200, s3: await startS3(t) })
  const crash = { at: 'ledger.removed', hit: 100, end: 'all' } as const
  const killed = await start(t, ['run', job.config], { ...job, crash }).ended()
  assert.equal(killed.signal, 'SIGKILL', killed.stderr)
  const committed = new Set((await union(job)).map(entryKey))
  const finished = (await listed(job)).filter(({ key }) => committed.has(key))
  assert.ok(finished.length >= 100 && finished.length < 200, `finished=${finished.length}`)
  const { beforeCommit } = await windowsOf(job)

  const { code, stdout, stderr } = await start(t, ['run', job.config, '--json'], job).ended()
  assert.equal(code, 0, stderr)
  const missing = 200 - committed.size - beforeCommit
  assert.equal(JSON.parse(stdout).extracted.samples, missing)
  const after = new Map((await listed(job)).map((object) => [object.key, object]))
  assert.equal(after.size, 200)
  for (const object of finished) assert.deepEqual(after.get(object.key), object)
})
