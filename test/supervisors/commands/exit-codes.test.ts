import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Job } from '../../../supervisors/drills/rig/job.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { ask, statusWhen } from '../../../supervisors/drills/rig/socket.ts'
import { windowsOf } from '../../../supervisors/drills/rig/stored.ts'
import { draftsmith } from '../../support/commands/draftsmith.ts'
import { layOutJob } from '../../support/crash/job.ts'
import { assertAsIfUndisturbed, undisturbed } from '../../support/crash/undisturbed.ts'

/** Promise 7 of the design, where the other tests of commands do not meet it. */

const isUnderWay = ({ ledger }: { ledger: { stored: { samples: number } } | null }) =>
  (ledger?.stored.samples ?? 0) > 0

function change(job: Job, changed: (config: Record<string, object>) => object): void {
  const config = JSON.parse(readFileSync(job.config, 'utf8'))
  writeFileSync(job.config, JSON.stringify({ ...config, ...changed(config) }))
}

test('exit codes: stopped on request 5, interrupted 130, the next run 0', async (t) => {
  const job = await layOutJob(t)
  const asked = start(t, ['run', job.config, '--json'], job)
  await statusWhen(asked, job, isUnderWay)
  assert.match(await ask(job, 'stop'), /Stopping/)
  const stopped = await asked.ended()
  assert.equal(stopped.code, 5, stopped.stderr)
  assert.equal(JSON.parse(stopped.stdout).code, 5)

  const interrupted = start(t, ['run', job.config], job)
  await statusWhen(interrupted, job, isUnderWay)
  interrupted.signal('SIGINT')
  const left = await interrupted.ended()
  assert.equal(left.code, 130, left.stderr)

  const last = await start(t, ['run', job.config], job).ended()
  assert.equal(last.code, 0, last.stderr)
})

test('exit codes: a store away past its deadline is 4; later it goes on', async (t) => {
  const s3 = await startS3(t)
  const job = await layOutJob(t, { s3 })
  change(job, ({ upload }) => ({ upload: { ...upload, attempts: 2, deadlineMinutes: 0.05 } }))
  const run = start(t, ['run', job.config, '--json'], job)
  await statusWhen(run, job, isUnderWay)
  await s3.setFaults([{ times: 1_000_000, kind: 'error', status: 503, code: 'SlowDown' }])
  const { code, stdout, stderr } = await run.ended()
  assert.equal(code, 4, stderr)
  const said = JSON.parse(stdout)
  assert.equal(said.code, 4)
  assert.match(said.reason, /for 0\.05 minutes/)
  assert.match(said.remedy, /run again/)
  await s3.setFaults([])
  const { beforeCommit } = await windowsOf(job)
  assert.ok(beforeCommit > 0, 'what the store did not take waits in the spool')
  // A slow machine may take longer than that for its start alone.
  change(job, ({ upload }) => ({ upload: { ...upload, deadlineMinutes: 30 } }))
  const later = await start(t, ['run', job.config], job).ended()
  assert.equal(later.code, 0, later.stderr)
  await assertAsIfUndisturbed(job, await undisturbed(t))
})

test('exit codes: terminated, and the manifest is refused in the drain: 4, and why', async (t) => {
  const s3 = await startS3(t)
  const job = await layOutJob(t, { s3 })
  // The first segment is that of the drain.
  change(job, () => ({ commit: { every: 1_000_000, seconds: 3600 } }))
  const match = { operation: 'PutObject', key: 'manifest/segments/' }
  await s3.setFaults([{ match, times: 1000, kind: 'error', status: 403, code: 'AccessDenied' }])
  const crash = { slow: { at: 'extractor.computed', ms: 150 } }
  const run = start(t, ['run', job.config, '--json'], { ...job, crash })
  await statusWhen(run, job, isUnderWay)
  run.signal('SIGTERM')
  const { code, stdout, stderr } = await run.ended()
  assert.equal(code, 4, stderr)
  const said = JSON.parse(stdout)
  assert.match(said.reason, /the store refuses the manifest: .*403/)
  assert.match(said.remedy, /Allow these credentials to .*Then run again/)
  const { beforeCommit } = await windowsOf(job)
  assert.ok(beforeCommit > 0, 'what is stored waits for its line')
})

test('exit codes: a device that is not there is refused, nothing stored', async (t) => {
  const job = await layOutJob(t)
  change(job, ({ extract }) => ({ extract: { ...extract, devices: ['cuda:0'] } }))
  const ended = await draftsmith(['run', job.config, '--json'], { dir: job.dir })
  assert.equal(ended.code, 2, ended.stderr)
  assert.match(JSON.parse(ended.stdout).remedy, /install:cuda|cpu/)
  const keys: string[] = []
  for await (const { key } of (await job.openStore()).list('')) keys.push(key)
  assert.deepEqual(keys, [])
})
