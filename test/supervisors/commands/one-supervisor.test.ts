import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { credentials, startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { ask, statusWhen } from '../../../supervisors/drills/rig/socket.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { folder, writeConfig } from '../../support/commands/golden-job.ts'

/** A run under way: what `status` says of it, and who may not start beside it. */

test('status: where nothing runs, it says so with code 2', async (t) => {
  const dir = folder(t)
  for (const args of [['status'], ['status', '--work', 'elsewhere', '--json']]) {
    const ended = await draftsmith(args, { dir })
    assertRefused(ended, {
      says: [
        /no supervisor runs there. work=/,
        /draftsmith run CONFIG/,
        /verify STORE.*logs.draftsmith\.jsonl/,
      ],
    })
  }
})

test('a second supervisor is refused with code 3, and the first goes on unharmed', async (t) => {
  const dir = folder(t)
  const config = writeConfig(dir, 'job', { extract: { dtype: 'f32', tokenBudget: 40 } })
  const elsewhere = writeConfig(dir, 'other', { store: `file://${join(dir, 'job', 'store')}` })
  const work = join(dir, 'job', 'work')
  const slow = { at: 'extractor.computed', ms: 200 }
  const first = start(t, ['run', config, '--json'], { dir, crash: { slow } })
  await statusWhen(first, { work }, ({ state }) => state === 'running')
  assert.match(await ask({ work }, 'pause'), /Paused/)

  const [text, json, sameFolder, sameRun] = await Promise.all([
    draftsmith(['status', '--work', join('job', 'work')], { dir }),
    draftsmith(['status', '--work', work, '--json'], { dir }),
    draftsmith(['run', config], { dir }),
    draftsmith(['run', elsewhere], { dir }),
  ])
  assert.equal(text.code, 0, text.stderr)
  assert.match(text.stdout, /^paused: run [0-9a-f-]{36}, pid \d+\n/)
  assert.match(text.stdout, /^ {4}extractor\/0 +running/m)
  assertReadable(text)
  assert.equal(json.code, 0, json.stderr)
  const { state, pid, store, source, actors } = JSON.parse(json.stdout)
  assert.equal(state, 'paused')
  assert.equal(store, `file://${join(dir, 'job', 'store')}`)
  assert.deepEqual([source.of, source.rows], ['rows', 12])
  assert.equal(actors.id, 'root')
  // Only its owner may open it.
  assert.equal(statSync(join(work, 'console', 'draftsmith.sock')).mode & 0o777, 0o600)
  assert.equal(statSync(join(work, 'console')).mode & 0o777, 0o700)

  const folderHeld = [/another supervisor works in this folder/, new RegExp(`pid=${pid}\\b`)]
  assertRefused(sameFolder, { code: 3, says: [...folderHeld, /draftsmith status/] })
  const runHeld = [/another supervisor holds this run/, new RegExp(`pid=${pid}\\b`)]
  assertRefused(sameRun, { code: 3, says: [...runHeld, /Stop it, or go on with it/] })

  assert.match(await ask({ work }, 'continue'), /Going on/)
  const ended = await first.ended()
  assert.equal(ended.code, 0, ended.stderr)
  const { rows, extracted, spool } = JSON.parse(ended.stdout)
  assert.deepEqual([rows.committed, extracted.samples, spool.files], [12, 12, 0])
  assert.doesNotMatch(ended.stderr, /"level":"(error|fatal)"|"msg":"died"/)
})

test('SIGTERM is heard while the store does not answer: code 143, at the first', async (t) => {
  const dir = folder(t)
  const s3 = await startS3(t)
  await s3.setFaults([{ times: 1000, kind: 'stall' }])
  const settings = { store: 's3://draftsmith/run', s3: { endpoint: s3.endpoint } }
  const run = start(t, ['run', writeConfig(dir, 'job', settings)], { dir, env: credentials })
  const work = join(dir, 'job', 'work')
  await statusWhen(run, { work }, ({ state }) => state === 'preflight')
  run.signal('SIGTERM')
  const { code, stdout, stderr } = await run.ended()
  assert.equal(code, 143, stderr)
  assert.match(stdout, /^Stopped; the same command goes on/)
})
