import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { sleep } from '../../src/clock.ts'
import type { Crash } from '../../supervisors/drills/rig/crash.ts'
import type { Job } from '../../supervisors/drills/rig/job.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import {
  readTrained,
  stepsIn,
  type Trained,
  trainingsIn,
} from '../../supervisors/drills/rig/trained.ts'
import { type JobOptions, layOutJob } from '../support/crash/job.ts'

/**
 * A training that is killed goes on from its newest checkpoint; what it comes to is, bit for bit,
 * what one comes to that was never disturbed.
 */

const options: JobOptions = {
  rows: 40,
  tokens: { min: 20, max: 60 },
  train: {
    epochs: 4,
    layers: 1,
    blockSize: 4,
    anchors: 8,
    lr: 2e-3,
    tokensPerStep: 256,
    tokensPerBatch: 128,
    heldOut: 0.1,
    heldOutEvery: 10,
    // One after the other.
    checkpointMinutes: 0.001,
    keep: { last: 2 },
  },
}

let straight: Promise<Trained> | undefined

/** Extraction and training by one command, undisturbed. */
const undisturbed = (t: TestContext): Promise<Trained> => {
  straight ??= (async () => {
    const job = await layOutJob(t, options)
    const { code, stderr } = await start(t, ['run', job.config], job).ended()
    assert.equal(code, 0, stderr)
    return await readTrained(job)
  })()
  return straight
}

async function assertAsIfUndisturbed(job: Job, wanted: Trained): Promise<void> {
  const found = await readTrained(job)
  assert.deepEqual({ ...found, lines: [...found.lines] }, { ...wanted, lines: [...wanted.lines] })
}

const crashes: readonly (Crash & { readonly code: number | null })[] = [
  { at: 'trainer.stepped', hit: 7, end: 'all', code: null },
  { at: 'checkpoint.optimizer-put', hit: 2, end: 'all', code: null },
  { at: 'checkpoint.state-put', hit: 3, end: 'all', code: null },
]

for (const kind of ['file', 's3'] as const) {
  test(`${kind}: killed in step and in save, a training ends as if undisturbed`, async (t) => {
    const wanted = await undisturbed(t)
    const job = await layOutJob(t, kind === 's3' ? { ...options, s3: await startS3(t) } : options)
    for (const { code, ...crash } of crashes) {
      const killed = await start(t, ['run', job.config], { ...job, crash }).ended()
      assert.deepEqual([killed.code, killed.signal], [code, 'SIGKILL'], killed.stderr)
    }
    const { code, stderr } = await start(t, ['run', job.config], job).ended()
    assert.equal(code, 0, stderr)
    await assertAsIfUndisturbed(job, wanted)
  })
}

test('a machine that has nothing goes on with the training from the store alone', async (t) => {
  const wanted = await undisturbed(t)
  const job = await layOutJob(t, options)
  const crash = { at: 'trainer.stepped', hit: 9, end: 'all' } as const
  await start(t, ['run', job.config], { ...job, crash }).ended()
  const other = await layOutJob(t, options)
  cpSync(new URL(job.storeUrl), new URL(other.storeUrl), { recursive: true })
  const args = ['train', other.storeUrl, '--work', other.work, '--target', other.target]
  const { code, stderr } = await start(t, args, other).ended()
  assert.equal(code, 0, stderr)
  const found = await readTrained(other)
  assert.deepEqual(
    [found.step, found.model, found.optimizer],
    [wanted.step, wanted.model, wanted.optimizer],
  )
})

test('a training that is asked for anew begins once, though its process is killed', async (t) => {
  const job = await layOutJob(t, options)
  const before = await start(t, ['run', job.config], job).ended()
  assert.equal(before.code, 0, before.stderr)
  const crash = { at: 'trainer.stepped', hit: 7, end: 'process' } as const
  const running = start(t, ['train', job.config, '--new'], { ...job, crash })
  const { code, stderr } = await running.ended()
  assert.equal(code, 0, stderr)
  // The launcher, what was killed, and what was started in its place.
  assert.equal(running.pids().length, 3)
  assert.equal(trainingsIn(job).size, 2)
})

for (const [actor, at] of [
  ['trainer/0', 'trainer.stepped'],
  ['checkpointer', 'checkpoint.state-put'],
] as const) {
  test(`${actor} dies in mid-run: the training ends as if undisturbed`, async (t) => {
    const wanted = await undisturbed(t)
    const job = await layOutJob(t, options)
    const crash = { at, hit: 5, end: 'thread' } as const
    const { code, stderr } = await start(t, ['run', job.config], { ...job, crash }).ended()
    assert.equal(code, 0, stderr)
    await assertAsIfUndisturbed(job, wanted)
  })
}

test('a trainer’s process aborts: nothing else ends, and it ends as if undisturbed', async (t) => {
  const wanted = await undisturbed(t)
  const train = { ...options.train, isolation: 'process' }
  const job = await layOutJob(t, { ...options, train })
  const crash = { at: 'trainer.stepped', hit: 7, end: 'abort' } as const
  const { code, stderr } = await start(t, ['run', job.config], { ...job, crash }).ended()
  assert.equal(code, 0, stderr)
  assert.doesNotMatch(stderr, /the process died/)
  assert.match(stderr, /"child":"trainer\/0".*ended by SIGABRT.*"restarting"/)
  await assertAsIfUndisturbed(job, wanted)
})

test('SIGTERM twice: the step in hand is saved, 143; the same command goes on (B44)', async (t) => {
  const wanted = await undisturbed(t)
  const job = await layOutJob(t, { ...options, train: { ...options.train, checkpointMinutes: 30 } })
  const hold = { at: 'trainer.stepped', hit: 6 }
  const running = start(t, ['run', job.config], { ...job, crash: { hold } })
  await running.until('its sixth step', async () => {
    return stepsIn(job) >= 6 ? true : undefined
  })
  running.signal('SIGTERM')
  await sleep(50)
  running.signal('SIGTERM')
  running.letGo()
  const ended = await running.ended()
  assert.equal(ended.code, 143, ended.stderr)
  const saved = await readTrained(job)
  assert.ok(saved.step >= 6 && saved.step < wanted.step, `step=${saved.step}`)
  const { code, stderr } = await start(t, ['run', job.config], job).ended()
  assert.equal(code, 0, stderr)
  await assertAsIfUndisturbed(job, wanted)
})
