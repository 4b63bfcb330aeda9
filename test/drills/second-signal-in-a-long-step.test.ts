import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../../src/clock.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { statusWhen } from '../../supervisors/drills/rig/socket.ts'
import { layOutJob } from '../support/crash/job.ts'

/** A person who does not wait for a step that takes long: no fault of anybody's. */

/** A step of so many batches, each so dear, that no signal comes to its end. */
const train = {
  ...{ epochs: 1, layers: 2, blockSize: 16, anchors: 64, heldOut: null },
  ...{ tokensPerStep: 1_000_000, tokensPerBatch: 1024 },
}

test('SIGINT twice in the midst of a step: its batches are told, then what is left', async (t) => {
  const job = await layOutJob(t, { rows: 150, tokens: { min: 60, max: 120 }, train })
  const run = start(t, ['run', job.config], job)
  const { training } = await statusWhen(
    run,
    job,
    ({ training }) => (training?.trainer.batches?.done ?? 0) > 0,
  )
  assert.equal(training?.trainer.step, 0)
  assert.ok((training?.trainer.batches?.of ?? 0) > 5)
  run.signal('SIGINT')
  await statusWhen(run, job, ({ state }) => state === 'draining')
  // What follows within a moment would be the same signal.
  await sleep(600)
  run.signal('SIGINT')
  const { code, stderr, stdout } = await run.ended()
  assert.equal(code, 130, stderr)
  assert.match(stdout, /^Stopped; the same command goes on\.$/m)
  assert.match(stderr, /"left":\["trainer\/0: step 1"\].*ended in a hurry: the next run does again/)
  assert.doesNotMatch(stderr, /"level":"(error|fatal)"|not drained|the process died/)
})
