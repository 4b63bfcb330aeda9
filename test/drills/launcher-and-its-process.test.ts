import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAlive } from '../../src/manifest/holder.ts'
import { type Running, start } from '../../supervisors/drills/rig/process.ts'
import { union } from '../../supervisors/drills/rig/stored.ts'
import { layOutJob } from '../support/crash/job.ts'
import { assertAsIfUndisturbed, undisturbed } from '../support/crash/undisturbed.ts'

/** The launcher is killed; what becomes of its process alone is a drill. */

/** Settles when the supervised process has noticed that it is alone. */
async function assertFollows(run: Running): Promise<void> {
  const { signal, stderr } = await run.ended()
  assert.equal(signal, 'SIGKILL', stderr)
  // Its output has closed, so it runs no more, or is about to end.
  const left = run.pids().filter((pid) => isAlive({ pid }))
  assert.deepEqual(left, [], stderr)
}

test('launcher: killed alone, its process ends too, and a new run goes on', async (t) => {
  const wanted = await undisturbed(t)
  const job = await layOutJob(t)
  const crash = { hold: { at: 'extractor.computed', hit: 6 } }
  const run = start(t, ['run', job.config], { ...job, crash })
  await run.until('a commit', async () => ((await union(job)).length > 0 ? true : undefined))
  run.signal('SIGKILL')
  await assertFollows(run)
  const { code, stderr } = await start(t, ['run', job.config], job).ended()
  assert.equal(code, 0, stderr)
  await assertAsIfUndisturbed(job, wanted)
})

test('launcher: killed while its process begins, no process stays behind', async (t) => {
  const job = await layOutJob(t)
  // Held at its first batch, an orphan would not end by itself.
  const crash = { hold: { at: 'extractor.computed', hit: 1 } }
  const run = start(t, ['run', job.config], { ...job, crash })
  await run.until('the second process', async () => run.pids().at(1))
  run.signal('SIGKILL')
  await assertFollows(run)
})
