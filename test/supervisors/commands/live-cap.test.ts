import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layOutJob } from '../../support/crash/job.ts'
import { start } from '../../support/crash/process.ts'
import { startS3 } from '../../support/crash/s3-process.ts'
import { ask, statusWhen } from '../../support/crash/socket.ts'

const samplePuts = { operation: 'PutObject', key: 'hidden-states/' }

test('run: the cap is set while it runs, and a ledger that starts again keeps to it', async (t) => {
  const s3 = await startS3(t)
  const job = await layOutJob(t, { s3 })
  // Some samples come through, so that there are segments of the first ledger's; then all stand.
  await s3.setFaults([
    { match: samplePuts, times: 30, kind: 'delay', ms: 0 },
    { match: samplePuts, times: 1_000_000, kind: 'hold' },
  ])
  const run = start(t, ['run', job.config], { ...job, env: job.env })
  await statusWhen(run, job, ({ ledger }) => ledger !== null && ledger.segments > 0)
  assert.match(await ask(job, 'set upload.maxParallel 0'), /^error: no such number/)
  assert.match(await ask(job, 'set upload.maxParallel 5'), /^At most 5 requests/)
  // One more is the lock's.
  await statusWhen(run, job, ({ ledger }) => ledger?.permits.max === 4)

  assert.match(await ask(job, 'kill ledger'), /was ended/)
  const again = await statusWhen(
    run,
    job,
    ({ ledger, actors }) =>
      ledger?.segments === 0 && actors?.children[0]?.children[0]?.state === 'running',
  )
  assert.equal(again.actors?.children[0]?.children[0]?.id, 'ledger')
  await statusWhen(run, job, ({ ledger }) => ledger?.segments === 0 && ledger.permits.max === 4)
  await s3.setFaults([])
  const { code, stderr } = await run.ended()
  assert.equal(code, 0, stderr)
  const { peak } = await s3.stats()
  assert.ok(peak <= 8, `peak=${peak}`)
})
