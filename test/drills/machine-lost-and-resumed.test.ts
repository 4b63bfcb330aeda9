import assert from 'node:assert/strict'
import { mkdtempSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Job } from '../../supervisors/drills/rig/job.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { windowsOf } from '../../supervisors/drills/rig/stored.ts'
import { layOutJob } from '../support/crash/job.ts'
import { killAgainAndAgain } from '../support/crash/killings.ts'
import { assertAsIfUndisturbed, undisturbed } from '../support/crash/undisturbed.ts'

/**
 * Each machine that goes on has the store and a target, and nothing else: no dataset, no spool. On
 * S3 it is the drill `new-machine-from-the-store-alone`.
 */
const onNewMachine = (job: Job): Job => ({ ...job, work: mkdtempSync(join(job.dir, 'machine-')) })

const resumeArgs = (job: Job): readonly string[] => [
  ...['resume', job.storeUrl, '--work', job.work, '--target', join(job.dir, 'moved-target')],
  ...job.storeArgs,
]

test('file: eleven machines lost, the next goes on from the store alone', async (t) => {
  const wanted = await undisturbed(t)
  const job = await layOutJob(t)
  const crash = { at: 'ledger.stored', hit: 30, end: 'all' } as const
  const first = await start(t, ['run', job.config], { ...job, crash }).ended()
  assert.equal(first.signal, 'SIGKILL', first.stderr)
  const { unnamed } = await windowsOf(job)
  assert.ok(unnamed > 0, 'the next machine would find no object that no segment names')
  renameSync(job.dataset, join(job.dir, 'gone'))
  renameSync(job.target, join(job.dir, 'moved-target'))

  const met = await killAgainAndAgain(t, {
    times: 10,
    next: () => onNewMachine(job),
    start: (machine, next) => start(t, resumeArgs(machine), { ...machine, crash: next }),
  })
  for (const [window, times] of Object.entries(met)) assert.ok(times > 0, `not met: ${window}`)
  const last = onNewMachine(job)
  const { code, stderr } = await start(t, resumeArgs(last), last).ended()
  assert.equal(code, 0, stderr)
  await assertAsIfUndisturbed(last, wanted)
})
