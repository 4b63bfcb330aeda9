import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { noWindow } from '../../../src/audit/windows.ts'
import type { Job } from '../../../supervisors/drills/rig/job.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { readStored, type Stored, windowsOf } from '../../../supervisors/drills/rig/stored.ts'
import { type JobOptions, layOutJob } from './job.ts'
import { keptOutcome } from './kept-outcome.ts'

/** One a kind of job is enough for all tests. */
const known = new Map<string, Promise<Stored>>()

/** What the job comes to where nothing disturbs it. */
export function undisturbed(t: TestContext, options: JobOptions = {}): Promise<Stored> {
  const name = JSON.stringify(options)
  const run = known.get(name) ?? keptOutcome(name, () => runUndisturbed(t, options))
  known.set(name, run)
  return run
}

async function runUndisturbed(t: TestContext, options: JobOptions): Promise<Stored> {
  const job = await layOutJob(t, options)
  const { code, stderr } = await start(t, ['run', job.config], job).ended()
  assert.equal(code, 0, stderr)
  return await readStored(job)
}

/** The same objects, named once each, and nothing left behind. */
export async function assertAsIfUndisturbed(job: Job, wanted: Stored): Promise<void> {
  const found = await readStored(job)
  assert.deepEqual(found.objects, wanted.objects)
  assert.deepEqual(found.entries, wanted.entries)
  const twice = [...found.named].filter(([, times]) => times !== 1)
  assert.deepEqual(twice, [], 'named more than once')
  assert.deepEqual(await windowsOf(job), noWindow)
}
