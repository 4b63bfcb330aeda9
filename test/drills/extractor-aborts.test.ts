import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { start } from '../../supervisors/drills/rig/process.ts'
import { readStored } from '../../supervisors/drills/rig/stored.ts'
import { layOutJob } from '../support/crash/job.ts'
import { assertAsIfUndisturbed, undisturbed } from '../support/crash/undisturbed.ts'

/** What a fault in native code does to an extractor: it takes the whole process along. */

test('abort in an extractor: the process starts again, only its batch is lost', async (t) => {
  const wanted = await undisturbed(t)
  const job = await layOutJob(t)
  const crash = { at: 'extractor.computed', hit: 5, end: 'abort' } as const
  const { code, stderr } = await start(t, ['run', job.config], { ...job, crash }).ended()
  assert.equal(code, 0, stderr)
  assert.match(stderr, /"cause":"SIGABRT".*the process died: starting it again/)
  assert.match(stderr, /"batches":\["b\d{6}".*"death":"SIGABRT".*batches were under way at a death/)
  await assertAsIfUndisturbed(job, wanted)
})

/** Batches of two rows. */
const few = { rows: 16, tokens: { min: 20, max: 40 }, tokenBudget: 80 }

test('poison: the one sample that aborts each time is found, the rest is complete', async (t) => {
  const wanted = await undisturbed(t, few)
  const poison = wanted.entries[5].hash
  const job = await layOutJob(t, few)
  const during = { spool: join(job.work, 'spool'), hashes: [poison] }
  const crash = { at: 'spool.before-rename', during, end: 'abort', always: true } as const
  const run = start(t, ['run', job.config, '--json'], { ...job, crash })
  const { code, stdout, stderr } = await run.ended()
  assert.equal(code, 1, stderr)
  const { rows } = JSON.parse(stdout)
  assert.deepEqual([rows.committed, rows.quarantined, rows.failed], [15, 1, 0])
  const { entries } = await readStored(job)
  assert.deepEqual(
    entries.map(({ hash, status }) => ({ hash, status })),
    wanted.entries.map(({ hash }) => ({
      hash,
      status: hash === poison ? 'quarantined' : 'stored',
    })),
  )
  assert.match(entries[5].reason ?? '', /ended its extractor each time/)
})

test('storm: a model that aborts on every batch is given up soon', async (t) => {
  const job = await layOutJob(t)
  const crash = { at: 'extractor.computed', end: 'abort', always: true } as const
  const { code, stdout, stderr } = await start(t, ['run', job.config], { ...job, crash }).ended()
  assert.equal(code, 4, stderr)
  assert.match(stdout, /three different batches in a row ended their extractors/)
  assert.ok((stderr.match(/the process died/g)?.length ?? 0) <= 4, stderr)
})
