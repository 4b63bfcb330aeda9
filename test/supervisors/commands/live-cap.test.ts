import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { type S3Process, startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { ask, statusWhen } from '../../../supervisors/drills/rig/socket.ts'
import { layOutJob } from '../../support/crash/job.ts'

const samplePuts = { operation: 'PutObject', key: 'hidden-states/' }
/** Without end. */
const times = 1_000_000
const held = [{ match: samplePuts, times, kind: 'hold' }] as const
/** Long enough that as many are open together as may be. */
const slow = [{ match: samplePuts, times, kind: 'delay', ms: 20 }] as const

/** A run of at most 8 requests whose samples stand still after the first ones. */
async function open(t: TestContext) {
  const s3 = await startS3(t)
  const job = await layOutJob(t, { s3 })
  // Some samples come through, so that there are segments of the first ledger's; then all stand.
  await s3.setFaults([{ match: samplePuts, times: 30, kind: 'delay', ms: 0 }, ...held])
  const run = start(t, ['run', job.config], { ...job, env: job.env })
  await statusWhen(run, job, ({ ledger }) => ledger !== null && ledger.segments > 0)
  await run.until('eight open requests', async () => (await peakOf(s3)) > 5 || undefined)
  return { s3, job, run }
}

const peakOf = async (s3: S3Process) => (await s3.stats()).peak

test('run: the cap is set while it runs, and a ledger that starts again keeps to it', async (t) => {
  const { s3, job, run } = await open(t)
  assert.match(
    await ask(job, 'set upload.maxParallel 0'),
    /^error: no such value. .*want=1 to 10000, found=0/,
  )
  assert.match(await ask(job, 'set upload.maxParallel 5'), /^upload.maxParallel is 5 from now on/)
  // One more is the lock's.
  await statusWhen(run, job, ({ ledger }) => ledger?.permits.max === 4)
  const keepsTo5 = async (committed: number) => {
    await s3.setFaults(slow)
    // What was open before ends, and nothing takes its place.
    const isFew = async () => (await s3.stats()).open <= 5 || undefined
    await run.until('five open requests', isFew)
    await s3.statsAnew()
    await statusWhen(run, job, ({ ledger }) => (ledger?.committed ?? 0) >= committed)
    assert.ok((await peakOf(s3)) <= 5, `peak=${await peakOf(s3)}`)
  }
  await keepsTo5(100)

  await s3.setFaults(held)
  assert.match(await ask(job, 'kill ledger'), /was ended/)
  const again = await statusWhen(
    run,
    job,
    ({ ledger, actors }) =>
      ledger?.segments === 0 && actors?.children[0]?.children[0]?.state === 'running',
  )
  assert.equal(again.actors?.children[0]?.children[0]?.id, 'ledger')
  await statusWhen(run, job, ({ ledger }) => ledger?.segments === 0 && ledger.permits.max === 4)
  await keepsTo5(200)
  await s3.setFaults([])
  const { code, stderr } = await run.ended()
  assert.equal(code, 0, stderr)
})
