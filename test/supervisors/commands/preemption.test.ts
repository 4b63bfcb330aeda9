import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { noWindow } from '../../../src/audit/windows.ts'
import type { Crash } from '../../../supervisors/drills/rig/crash.ts'
import type { Job } from '../../../supervisors/drills/rig/job.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { statusWhen } from '../../../supervisors/drills/rig/socket.ts'
import { windowsOf } from '../../../supervisors/drills/rig/stored.ts'
import { readTrained } from '../../../supervisors/drills/rig/trained.ts'
import { logFile } from '../../../supervisors/log-target.ts'
import { type JobOptions, layOutJob } from '../../support/crash/job.ts'
import { assertAsIfUndisturbed, undisturbed } from '../../support/crash/undisturbed.ts'

/** A machine that is taken away, and says so: the whole program, told by a file. */

const noticeOf = ({ dir }: Job): string => join(dir, 'notice')

/** Runs a job that looks for its notice, which gives it so long. */
function startNoticing(t: TestContext, job: Job, seconds: number, crash?: Crash) {
  const config = JSON.parse(readFileSync(job.config, 'utf8'))
  const preemption = { file: noticeOf(job), everySeconds: 1, noticeSeconds: seconds }
  writeFileSync(job.config, JSON.stringify({ ...config, preemption }))
  return start(t, ['run', job.config], { ...job, ...(crash && { crash }) })
}

/** The same command, on the machine that comes after. */
async function completes(t: TestContext, job: Job): Promise<string> {
  rmSync(noticeOf(job))
  const { code, stderr } = await start(t, ['run', job.config], job).ended()
  assert.equal(code, 0, stderr)
  return stderr
}

test('preemption: what is under way is stored and committed in the time announced', async (t) => {
  const job = await layOutJob(t)
  const crash = { slow: { at: 'extractor.computed', ms: 30 } }
  const run = startNoticing(t, job, 100, crash)
  await statusWhen(run, job, ({ ledger }) => (ledger?.committed ?? 0) > 0)
  writeFileSync(noticeOf(job), '')
  const { code, stderr, stdout } = await run.ended()
  assert.equal(code, 5, stderr)
  assert.match(stderr, /"seconds":100,"msg":"this machine is taken away/)
  assert.match(stderr, /"child":"ledger","msg":"drained"/)
  assert.match(stdout, /^Stopped by the spot notice in \S+notice; the same command goes on/)
  // Nothing was left on the disk that goes, and nothing stored without its line in the manifest.
  assert.deepEqual(await windowsOf(job), noWindow)
  await completes(t, job)
  await assertAsIfUndisturbed(job, await undisturbed(t))
})

const training: JobOptions = {
  rows: 40,
  tokens: { min: 20, max: 60 },
  train: {
    ...{ epochs: 4, layers: 1, blockSize: 4, anchors: 8, lr: 2e-3 },
    ...{ tokensPerStep: 256, tokensPerBatch: 128, heldOut: 0.1, heldOutEvery: 10 },
  },
}

test('preemption: what is trained is saved before the time is up, and goes on there', async (t) => {
  const calm = await layOutJob(t, training)
  const { code: calmCode } = await start(t, ['run', calm.config], calm).ended()
  assert.equal(calmCode, 0)
  const job = await layOutJob(t, training)
  // Slow, that its steps are told; held, that there are some left when the notice is seen.
  const crash = {
    slow: { at: 'trainer.stepped', ms: 200 },
    hold: { at: 'trainer.stepped', hit: 10 },
  }
  const run = startNoticing(t, job, 100, crash)
  await statusWhen(run, job, ({ training }) => (training?.trainer.step ?? 0) >= 5)
  writeFileSync(noticeOf(job), '')
  await run.until('the notice in the log', async () => {
    const log = readFileSync(logFile(job.work), 'utf8')
    return log.includes('this machine is taken away') || undefined
  })
  run.letGo()
  const { code, stderr } = await run.ended()
  assert.equal(code, 5, stderr)
  const { step } = await readTrained(job)
  const wanted = await readTrained(calm)
  assert.ok(step >= 5 && step < wanted.step, `step=${step} of ${wanted.step}`)
  // Asked for by the notice: none is due before half an hour has passed.
  assert.equal(stderr.split('"msg":"checkpoint saved"').length, 2)

  const later = await completes(t, job)
  assert.match(later, new RegExp(`"step":${step},[^\\n]*"msg":"the training goes on"`))
  const { lines, ...found } = await readTrained(job)
  assert.deepEqual({ ...found, lines: [...lines] }, { ...wanted, lines: [...wanted.lines] })
})

test('preemption: where the time is too short the rest is left, and nothing is lost', async (t) => {
  const s3 = await startS3(t)
  const job = await layOutJob(t, { s3 })
  // Some come through; all that are sent after them stand for longer than there is.
  const match = { operation: 'PutObject', key: 'hidden-states/' }
  const held = { match, times: 1_000_000, kind: 'delay', ms: 600_000 } as const
  await s3.setFaults([{ match, times: 30, kind: 'delay', ms: 0 }, held])
  const run = startNoticing(t, job, 20)
  await statusWhen(
    run,
    job,
    ({ ledger }) => (ledger?.committed ?? 0) > 0 && (ledger?.uploading ?? 0) > 3,
  )
  writeFileSync(noticeOf(job), '')
  const { code, stderr } = await run.ended()
  assert.equal(code, 5, stderr)
  assert.match(stderr, /"seconds":20,"msg":"this machine is taken away/)
  // Every sample that the store has is in the manifest; what it has not waits, whole, in the spool.
  const { beforeCommit, ...others } = await windowsOf(job)
  assert.ok(beforeCommit > 0)
  assert.deepEqual({ ...others, beforeCommit: 0 }, noWindow)
  await s3.setFaults([])
  await completes(t, job)
  await assertAsIfUndisturbed(job, await undisturbed(t))
})
