import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { noWindow } from '../../src/audit/windows.ts'
import { sleep } from '../../src/clock.ts'
import { openStore } from '../../src/store/open.ts'
import type { Job } from '../../supervisors/drills/rig/job.ts'
import { type Running, start } from '../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { statusWhen } from '../../supervisors/drills/rig/socket.ts'
import { union, windowsOf } from '../../supervisors/drills/rig/stored.ts'
import { layOutJob } from '../support/crash/job.ts'
import { assertAsIfUndisturbed, undisturbed } from '../support/crash/undisturbed.ts'
import { projectRoot } from '../support/golden.ts'

/** SIGTERM: once it drains, twice it hurries, three times it leaves. */

/** So slow that signals come in mid-run. */
const crash = { slow: { at: 'extractor.computed', ms: 150 } }
const terminated = 143

/** Until some samples are extracted, and long before all are. */
const inMidRun = (run: Running, job: Pick<Job, 'work'>) =>
  statusWhen(run, job, ({ ledger }) => (ledger?.spooled.samples ?? 0) >= 20)

async function assertRunGoesOn(t: TestContext, job: Job): Promise<void> {
  const { code, stderr } = await start(t, ['run', job.config], job).ended()
  assert.equal(code, 0, stderr)
  await assertAsIfUndisturbed(job, await undisturbed(t))
}

test('SIGTERM: what is spooled is stored and committed before the end', async (t) => {
  const job = await layOutJob(t)
  const run = start(t, ['run', job.config], { ...job, crash })
  await inMidRun(run, job)
  run.signal('SIGTERM')
  const { code, stderr } = await run.ended()
  assert.equal(code, terminated, stderr)
  assert.doesNotMatch(stderr, /not drained|the process died/)
  assert.deepEqual(await windowsOf(job), noWindow)
  const { length } = await union(job)
  assert.ok(length >= 20 && length < 300, `committed=${length}`)
  await assertRunGoesOn(t, job)
})

test('SIGTERM twice within 50 ms: one end', async (t) => {
  const job = await layOutJob(t)
  const run = start(t, ['run', job.config], { ...job, crash })
  await inMidRun(run, job)
  run.signal('SIGTERM')
  await sleep(50)
  run.signal('SIGTERM')
  const { code, stderr } = await run.ended()
  assert.equal(code, terminated, stderr)
  assert.doesNotMatch(stderr, /the process died/)
})

test('SIGTERM, and the store hangs: a second hurries, a third leaves at once', async (t) => {
  const s3 = await startS3(t)
  const job = await layOutJob(t, { s3 })
  const hang = { kind: 'delay', ms: 600_000, times: 1e9 } as const
  const stopping = async (match: { key?: string }): Promise<Running> => {
    await s3.setFaults([])
    const run = start(t, ['run', job.config], { ...job, crash })
    await inMidRun(run, job)
    await s3.setFaults([{ ...hang, match }])
    run.signal('SIGTERM')
    await statusWhen(run, job, ({ state }) => state === 'draining')
    await sleep(600)
    run.signal('SIGTERM')
    return run
  }

  const hurried = await (await stopping({ key: 'hidden-states/' })).ended()
  assert.equal(hurried.code, terminated, hurried.stderr)
  const run = await stopping({})
  // Not even the lock can be given back now.
  await sleep(600)
  run.signal('SIGTERM')
  const left = await run.ended()
  assert.equal(left.code, terminated, left.stderr)
  await s3.setFaults([])
  await assertRunGoesOn(t, job)
})

test('SIGTERM through npm start: npm ends when all is drained', async (t) => {
  const { dir, env } = await layOutJob(t)
  const work = join(dir, 'demo')
  const npmStart = () =>
    start(t, ['start', '--ignore-scripts', '--', '--work', work], {
      dir,
      env: { ...env, npm_config_update_notifier: 'false' },
      crash,
      cwd: projectRoot,
      command: { file: 'npm', args: [] },
    })
  const once = npmStart()
  await inMidRun(once, { work })
  once.signal('SIGTERM')
  const { code, stderr } = await once.ended()
  assert.equal(code, terminated, stderr)
  const storeUrl = pathToFileURL(join(work, 'store')).href
  const demo = { work, openStore: () => openStore(storeUrl) }
  assert.deepEqual(await windowsOf(demo), noWindow)
  const { length } = await union(demo)
  assert.ok(length >= 20 && length < 400, `committed=${length}`)

  const twice = npmStart()
  await inMidRun(twice, { work })
  twice.signal('SIGTERM')
  await sleep(50)
  twice.signal('SIGTERM')
  const again = await twice.ended()
  assert.equal(again.code, terminated, again.stderr)
})
