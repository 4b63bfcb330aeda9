import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../../src/store/open.ts'
import { credentials, type S3Process, startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { filesBelow, folder, writeConfig } from '../../support/commands/golden-job.ts'

/** An object store that does not let the run in: told soon, by cause, before anything starts. */

const bucket = 's3://draftsmith'
const wrongSecret = { ...credentials, AWS_SECRET_ACCESS_KEY: 'not-the-right-one' }
const nobody = { AWS_ACCESS_KEY_ID: 'nobody', AWS_SECRET_ACCESS_KEY: 'not-the-right-one' }
const checkKeys = /Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the AWS profile/

/** Keys in the bucket; a store of no prefix sees them all. */
async function keysIn({ endpoint }: S3Process): Promise<string[]> {
  const store = await openStore(`${bucket}/`, { endpoint }, { env: credentials })
  const keys: string[] = []
  for await (const { key } of store.list('')) keys.push(key)
  store.close()
  return keys
}

test('run: credentials, bucket or endpoint that are wrong end it with code 2', async (t) => {
  const dir = folder(t)
  const s3 = await startS3(t)
  const { endpoint } = s3
  const cases = [
    {
      name: 'secret',
      env: wrongSecret,
      says: [/secret key does not match the access key.*code=SignatureDoesNotMatch/, checkKeys],
    },
    { name: 'key', env: nobody, says: [/access key is unknown.*InvalidAccessKeyId/, checkKeys] },
    { name: 'none', env: {}, says: [/there are no credentials/, checkKeys] },
    {
      name: 'bucket',
      env: credentials,
      store: 's3://other/run',
      says: [
        /bucket does not exist. store=s3:\/\/other\/run/,
        /Create the bucket, or correct store/,
      ],
    },
    {
      name: 'endpoint',
      env: credentials,
      at: 'http://127.0.0.1:9',
      says: [/nobody listens there.*ECONNREFUSED/, /Check s3.endpoint and the network/],
    },
  ]
  const refuse = async (one: (typeof cases)[number]): Promise<void> => {
    const settings = { store: one.store ?? `${bucket}/run`, s3: { endpoint: one.at ?? endpoint } }
    const ended = await draftsmith(['run', writeConfig(dir, one.name, settings)], {
      dir,
      env: one.env,
    })
    assertRefused(ended, { says: one.says })
    assert.doesNotMatch(ended.stderr, /not-the-right-one|crash-secret/)
    assert.deepEqual(filesBelow(join(dir, one.name, 'work', 'spool')), [])
  }
  for (const one of cases) await refuse(one)
  assert.deepEqual(await keysIn(s3), [])
})

test('check, verify, resume: a store that does not let them in is told by its cause', async (t) => {
  const dir = folder(t)
  const { endpoint } = await startS3(t)
  const at = ['--endpoint', endpoint]
  const config = writeConfig(dir, 'job', { store: `${bucket}/run`, s3: { endpoint } })
  const resume = ['resume', `${bucket}/run`, ...at]
  const checked = await draftsmith(['check', config], { dir, env: wrongSecret })
  const verified = await draftsmith(['verify', 's3://other/run', ...at], { dir, env: credentials })
  const resumed = await draftsmith([...resume, '--work', 'w1'], { dir, env: nobody })
  const empty = await draftsmith([...resume, '--work', 'w2'], { dir, env: credentials })
  assert.equal(checked.code, 2, checked.stderr)
  assert.match(checked.stdout, /^WRONG {2}store .*cannot put: the secret key does not match/m)
  assert.match(checked.stdout, checkKeys)
  assertReadable(checked)
  assertRefused(verified, { says: [/bucket does not exist/, /Create the bucket/] })
  assertRefused(resumed, { says: [/access key is unknown/, checkKeys] })
  assertRefused(empty, { says: [/holds no run. store=s3:\/\/draftsmith\/run/, /Name the store/] })
  for (const folderName of ['w1', 'w2']) assert.deepEqual(filesBelow(join(dir, folderName)), [])
})

test('verify: an endpoint that is no URL, or carries credentials, is refused', async (t) => {
  const at = { dir: folder(t), env: credentials }
  const verify = ['verify', `${bucket}/run`, '--endpoint']
  const nonsense = await draftsmith([...verify, 'nonsense'], at)
  const secret = await draftsmith([...verify, 'http://me:hushhush@127.0.0.1:9'], at)
  assertRefused(nonsense, { says: [/endpoint is no URL.*ERR_INVALID_URL/, /http\(s\):\/\/host/] })
  assertRefused(secret, { says: [/endpoint carries credentials/, /AWS profile/] })
  assert.doesNotMatch(secret.stderr, /hushhush/)
})

const samplePuts = { operation: 'PutObject', key: 'hidden-states/' }
const many = 1000

test('run: what the store refuses stays in the spool, named, until the next run', async (t) => {
  const dir = folder(t)
  const s3 = await startS3(t)
  const config = writeConfig(dir, 'job', { store: `${bucket}/run`, s3: { endpoint: s3.endpoint } })
  const spool = join(dir, 'job', 'work', 'spool')
  await s3.setFaults([
    { match: samplePuts, times: 3, kind: 'error', status: 403, code: 'AccessDenied' },
  ])
  const first = await draftsmith(['run', config, '--json'], { dir, env: credentials })
  assert.equal(first.code, 1, first.stderr)
  const { rows, failed, spool: left } = JSON.parse(first.stdout)
  assert.deepEqual([rows.rows, rows.committed, rows.failed, rows.quarantined], [12, 9, 3, 0])
  assert.equal(left.files, 3)
  const names = filesBelow(spool)
  assert.equal(failed.length, 3)
  for (const { hash, reason } of failed) {
    assert.match(reason, /these credentials may not do this.*AccessDenied/)
    assert.equal(names.filter((name) => name.startsWith(hash)).length, 1)
  }

  // Does nothing but count.
  await s3.setFaults([{ match: samplePuts, times: many, kind: 'delay', ms: 0 }])
  const second = await draftsmith(['run', config, '--json'], { dir, env: credentials })
  assert.equal(second.code, 0, second.stderr)
  assert.deepEqual(await s3.faultsLeft(), [many - 3])
  const { rows: rowsNow, extracted, stored } = JSON.parse(second.stdout)
  assert.deepEqual([rowsNow.committed, rowsNow.failed], [12, 0])
  assert.deepEqual([extracted.samples, stored.samples], [0, 3])
  assert.deepEqual(filesBelow(spool), [])
})

test('run: samples that the store refuses are named where people read', async (t) => {
  const dir = folder(t)
  const s3 = await startS3(t)
  const config = writeConfig(dir, 'job', { store: `${bucket}/run`, s3: { endpoint: s3.endpoint } })
  await s3.setFaults([
    { match: samplePuts, times: 3, kind: 'error', status: 403, code: 'AccessDenied' },
  ])
  const ended = await draftsmith(['run', config], { dir, env: credentials })
  assert.equal(ended.code, 1, ended.stderr)
  assertReadable(ended)
  assert.match(ended.stdout, /^Finished, but not whole: .*\n.* 9 samples committed, .* 3 failed/)
  const named = ended.stdout.match(/^failed [0-9a-f]{32}: .*AccessDenied/gm) ?? []
  assert.equal(named.length, 3)
})
