import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { credentials, startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { draftsmith } from '../../support/commands/draftsmith.ts'
import { filesBelow, folder, writeConfig } from '../../support/commands/golden-job.ts'

/** A store that takes samples, and no manifest: the run ends at once, and loses nothing. */

const rows = 12
const many = 1000
const denied = { kind: 'error', status: 403, code: 'AccessDenied' } as const
const segments = { operation: 'PutObject', key: 'manifest/segments/' }
const samples = { operation: 'PutObject', key: 'hidden-states/' }

test('run: a manifest that the store refuses is told once, code 4; then it goes on', async (t) => {
  const dir = folder(t)
  const s3 = await startS3(t)
  const spool = join(dir, 'job', 'work', 'spool')
  const config = writeConfig(dir, 'job', {
    store: 's3://draftsmith/run',
    s3: { endpoint: s3.endpoint },
    // The first segment is written once all samples are stored, however slow the machine is.
    commit: { every: 1000, seconds: 3600 },
  })
  const run = async () => {
    // The second does nothing but count.
    await s3.setFaults([
      { match: segments, times: many, ...denied },
      { match: samples, times: many, kind: 'delay', ms: 0 },
    ])
    const ended = await draftsmith(['run', config, '--json'], { dir, env: credentials })
    const [segmentsLeft = 0, samplesLeft = 0] = await s3.faultsLeft()
    const said = JSON.parse(ended.stdout)
    return { ...ended, said, segmentPuts: many - segmentsLeft, samplePuts: many - samplesLeft }
  }

  // At first all is computed; then nothing is left but to send what is spooled.
  for (const extracted of [rows, 0]) {
    const { code, said, stderr, segmentPuts, samplePuts } = await run()
    assert.equal(code, 4, stderr)
    assert.equal(said.code, 4)
    assert.match(said.reason, /refuses the manifest: .*may not do this.*manifest\/segments\/.*403/)
    assert.match(said.remedy, /Allow these credentials to .*put.*Then run again/)
    assert.equal(said.extracted.samples, extracted)
    assert.deepEqual([segmentPuts, samplePuts], [1, rows])
    assert.doesNotMatch(stderr, /"msg":"(died|restarting)"/)
    assert.equal(filesBelow(spool).length, rows)
  }

  await s3.setFaults([])
  const last = await draftsmith(['run', config, '--json'], { dir, env: credentials })
  assert.equal(last.code, 0, last.stderr)
  const { rows: now, extracted, stored } = JSON.parse(last.stdout)
  assert.deepEqual([now.committed, extracted.samples, stored.samples], [rows, 0, rows])
  assert.deepEqual(filesBelow(spool), [])
})
