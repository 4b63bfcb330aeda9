import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Fault } from '../../src/dev-s3/faults.ts'
import type { Job } from '../../supervisors/drills/rig/job.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { statusWhen } from '../../supervisors/drills/rig/socket.ts'
import { readStored, windowsOf } from '../../supervisors/drills/rig/stored.ts'
import { layOutJob } from '../support/crash/job.ts'
import { assertAsIfUndisturbed, undisturbed } from '../support/crash/undisturbed.ts'

/** Two machines, as it were, and one store: each with a work folder of its own. */

const always = 1e9
/** As stores do that know no conditional put. */
const ignoring: Fault = {
  kind: 'ignore-conditions',
  times: always,
  match: { operation: 'PutObject' },
}
/** Nobody ever sees another's lock. */
const blind: Fault = {
  ...{ kind: 'error', status: 404, code: 'NotFound' },
  times: always,
  match: { operation: 'HeadObject', key: 'manifest/lock.json' },
}
/** Half of the batches are left when the other comes. */
const held = { hold: { at: 'extractor.computed', hit: 10 } }

/** The same run from elsewhere. */
function beside(job: Job): Job {
  const work = join(job.dir, 'other-work')
  mkdirSync(work)
  const config = join(job.dir, 'other.json')
  writeFileSync(config, JSON.stringify({ ...JSON.parse(readFileSync(job.config, 'utf8')), work }))
  return { ...job, work, config }
}

async function lay(t: TestContext, faults: readonly Fault[]) {
  const wanted = await undisturbed(t)
  const s3 = await startS3(t)
  await s3.setFaults(faults)
  const job = await layOutJob(t, { s3 })
  return { job, other: beside(job), wanted, s3 }
}

const run = (t: TestContext, job: Job, crash = {}) =>
  start(t, ['run', job.config], { ...job, crash })

const isRunning = ({ state }: { readonly state: string }): boolean => state === 'running'

for (const [conditions, faults] of [
  ['honoured', []],
  ['ignored', [ignoring]],
] as const) {
  test(`conditions ${conditions}: the second is refused, the first unharmed`, async (t) => {
    const { job, other, wanted } = await lay(t, faults)
    const first = run(t, job, held)
    await statusWhen(first, job, isRunning)
    const second = await run(t, other).ended()
    assert.equal(second.code, 3, second.stderr)
    assert.match(second.stderr, /another supervisor holds this run/)

    first.letGo()
    const { code, stderr } = await first.ended()
    assert.equal(code, 0, stderr)
    assert.equal(/the store ignores conditions/.test(stderr), conditions === 'ignored')
    await assertAsIfUndisturbed(job, wanted)
  })
}

test('two that cannot see each other finish both, and leave each sample once', async (t) => {
  const { job, other, wanted } = await lay(t, [ignoring, blind])
  const first = run(t, job, held)
  await statusWhen(first, job, isRunning)
  const second = run(t, other, held)
  await statusWhen(second, other, isRunning)
  first.letGo()
  second.letGo()
  for (const { code, stderr } of await Promise.all([first.ended(), second.ended()])) {
    assert.equal(code, 0, stderr)
    assert.match(stderr, /the store ignores conditions: two starts at one moment may both hold/)
  }
  const found = await readStored(job)
  assert.deepEqual(found.objects, wanted.objects)
  assert.deepEqual(found.entries, wanted.entries)
  for (const place of [job, other]) {
    const left = { beforeRename: 0, beforeCommit: 0, beforeRemoval: 0, unnamed: 0 }
    assert.deepEqual(await windowsOf(place), left)
  }
  const verified = await start(t, ['verify', job.storeUrl, ...job.storeArgs], job).ended()
  assert.equal(verified.code, 0, verified.stderr)
})

test('two that come to see each other: one stops at its next beat, one finishes', async (t) => {
  const { job, other, wanted, s3 } = await lay(t, [])
  // Each has more to do than a beat lasts.
  const slow = { slow: { at: 'extractor.computed', ms: 1500 } }
  const first = run(t, job, slow)
  await statusWhen(first, job, isRunning)
  await s3.setFaults([ignoring, blind])
  const second = run(t, other, slow)
  await statusWhen(second, other, isRunning)
  await s3.setFaults([])

  const ended = await Promise.all([first.ended(), second.ended()])
  const [finished, superseded] = ended.sort((a, b) => (a.code ?? 0) - (b.code ?? 0))
  assert.equal(finished?.code, 0, finished?.stderr)
  assert.equal(superseded?.code, 3, superseded?.stderr)
  assert.match(superseded.stderr, /another supervisor holds this run/)
  const found = await readStored(job)
  assert.deepEqual(found.objects, wanted.objects)
  assert.deepEqual(found.entries, wanted.entries)
})
