import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start } from '../../supervisors/drills/rig/process.ts'
import { layOutJob } from '../support/crash/job.ts'
import { killAgainAndAgain } from '../support/crash/killings.ts'
import { assertAsIfUndisturbed, undisturbed } from '../support/crash/undisturbed.ts'

/**
 * Launcher and supervised process are killed at once, and `run` again, in the same work folder. All
 * crash windows of the design must have been met, as far as one machine can meet them. On S3 it is
 * the drill `process-killed-at-random`.
 */
test('file: killed ten times and run again, as if never disturbed', async (t) => {
  const wanted = await undisturbed(t)
  assert.equal(wanted.entries.length, 300)
  const job = await layOutJob(t)
  const met = await killAgainAndAgain(t, {
    times: 10,
    next: () => job,
    start: (_, crash) => start(t, ['run', job.config], { ...job, crash }),
  })
  for (const [window, times] of Object.entries(met)) assert.ok(times > 0, `not met: ${window}`)
  const { code, stderr } = await start(t, ['run', job.config], job).ended()
  assert.equal(code, 0, stderr)
  await assertAsIfUndisturbed(job, wanted)
})
