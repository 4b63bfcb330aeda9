import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { noWindow } from '../../src/audit/windows.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { statusWhen } from '../../supervisors/drills/rig/socket.ts'
import { union, windowsOf } from '../../supervisors/drills/rig/stored.ts'
import { bytesIn } from '../../supervisors/drills/rig/watch.ts'
import { layOutJob } from '../support/crash/job.ts'
import { always, samplePuts } from '../support/storage-tree.ts'

/** A store that takes less than is computed: the spool fills, and extraction waits for room. */

const rows = 80
const maxParallel = 4

test('a spool that is full is never passed, nor is the cap, from the first request', async (t) => {
  const s3 = await startS3(t)
  const job = await layOutJob(t, { s3, rows, maxParallel })
  const { maxBytes } = JSON.parse(readFileSync(job.config, 'utf8')).spool
  const slow = { times: always, kind: 'delay', ms: 10 } as const
  await s3.setFaults([{ times: always, kind: 'hold', match: samplePuts }, slow])
  const most = watch(t, join(job.work, 'spool'))
  const run = start(t, ['run', job.config, '--json'], job)
  const { ledger } = await statusWhen(run, job, (status) => {
    const { full = null, bytes = 0 } = status.ledger?.spool ?? {}
    return full !== null && bytes > maxBytes / 2
  })
  assert.match(ledger?.spool.full ?? '', /spool.maxBytes is reached/)
  assert.equal(ledger?.committed, 0)

  await s3.setFaults([slow])
  const { code, stdout, stderr } = await run.ended()
  assert.equal(code, 0, stderr)
  // Before anybody else asks the server.
  const { peak, requests } = await s3.stats()
  const { committed, ...others } = JSON.parse(stdout).rows
  assert.equal(committed, rows, JSON.stringify(others))
  assert.equal((await union(job)).length, rows)
  assert.match(stderr, /new samples wait for room/)
  assert.deepEqual(await windowsOf(job), noWindow)
  t.diagnostic(`in the spool at most ${most()} of ${maxBytes} bytes; at most ${peak} requests open`)
  assert.ok(most() > maxBytes / 2 && most() <= maxBytes, `most=${most()}, maxBytes=${maxBytes}`)
  assert.ok(peak <= maxParallel, `peak=${peak}, requests=${JSON.stringify(requests)}`)
})

/** The most bytes that lay there at once, whatever their files are called. */
function watch(t: TestContext, dir: string): () => number {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, bytesIn(dir))
  }, 4)
  t.after(() => clearInterval(timer))
  return () => most
}
