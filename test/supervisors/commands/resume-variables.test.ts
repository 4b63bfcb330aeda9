import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../../src/store/open.ts'
import { credentials, startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { draftsmith } from '../../support/commands/draftsmith.ts'
import { filesBelow, folder, writeConfig } from '../../support/commands/golden-job.ts'

/** A machine that has nothing but the AWS variables. */

const url = 's3://draftsmith/run'

test('resume, verify: endpoint and region by the AWS variables alone', async (t) => {
  const dir = folder(t)
  const { endpoint } = await startS3(t)
  const config = writeConfig(dir, 'job', {
    store: url,
    s3: { endpoint },
    extract: { limit: 7 },
  })
  const begun = await draftsmith(['run', config, '--json'], { dir, env: credentials })
  assert.equal(begun.code, 0, begun.stderr)
  // The store has moved since: nobody listens where the stored configuration says.
  const store = await openStore(url, { endpoint }, { env: credentials })
  const stored = (await store.get('config.yaml'))?.toString() ?? ''
  assert.ok(stored.includes(endpoint), stored)
  const moved = stored.replace(endpoint, 'http://127.0.0.1:9').replace(/limit: 7/, 'limit: null')
  await store.put('config.yaml', Buffer.from(moved))
  store.close()

  const env = { ...credentials, AWS_ENDPOINT_URL: endpoint, AWS_REGION: 'eu-west-7' }
  const resumed = await draftsmith(['resume', url, '--work', 'fresh', '--json'], { dir, env })
  assert.equal(resumed.code, 0, resumed.stderr)
  const { rows, extracted } = JSON.parse(resumed.stdout)
  assert.deepEqual([rows.committed, extracted.samples], [12, 5])
  assert.deepEqual(filesBelow(join(dir, 'fresh', 'spool')), [])

  const verified = await draftsmith(['verify', url, '--deep', '--json'], { dir, env })
  assert.equal(verified.code, 0, verified.stderr)
  const { heads, read, stored: samples } = JSON.parse(verified.stdout)
  assert.deepEqual([samples, read, heads], [12, 12, { asked: 12, told: 12 }])
})
