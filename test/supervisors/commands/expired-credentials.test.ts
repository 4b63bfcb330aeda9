import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startDevS3 } from '../../../src/dev-s3/server.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { statusWhen } from '../../../supervisors/drills/rig/socket.ts'
import { layOutJob } from '../../support/crash/job.ts'

test('run: credentials that expire in its middle are read again; nothing is lost', async (t) => {
  const server = await startDevS3({
    accessKeyId: 'K1',
    secretAccessKey: 'of-K1',
    buckets: ['draftsmith'],
  })
  t.after(() => server.close())
  server.secrets.set('K2', 'of-K2')
  const job = await layOutJob(t, { s3: server })
  const file = join(job.dir, 'credentials')
  const renew = (id: string) =>
    writeFileSync(file, `[default]\naws_access_key_id=${id}\naws_secret_access_key=of-${id}\n`)
  renew('K1')
  const env = { AWS_SHARED_CREDENTIALS_FILE: file, AWS_EC2_METADATA_DISABLED: 'true' }
  const run = start(t, ['run', job.config, '--json'], { ...job, env })
  await statusWhen(run, job, ({ ledger }) => (ledger?.stored.samples ?? 0) > 0)
  // The store knows the old key no more; the new one is found where the old one was.
  renew('K2')
  const expired = { kind: 'error', status: 400, code: 'ExpiredToken' } as const
  server.faults.push({ times: 1_000_000, match: { accessKeyId: 'K1' }, ...expired })
  const { code, stdout, stderr } = await run.ended()
  assert.equal(code, 0, stderr)
  const { rows, failed } = JSON.parse(stdout)
  assert.deepEqual([rows.rows, rows.failed, failed], [300, 0, []])
  assert.ok((server.faults[0]?.times ?? 0) < 1_000_000, 'the old key was tried')
  // A slow machine may start an uploader twice; none died of what had expired.
  assert.doesNotMatch(stderr, /"cause":"crash"/)
})
