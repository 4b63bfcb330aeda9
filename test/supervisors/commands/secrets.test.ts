import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../../src/store/open.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { draftsmith, type Ended } from '../../support/commands/draftsmith.ts'
import { filesBelow, folder, writeConfig } from '../../support/commands/golden-job.ts'

/** Credentials stay where they were given: nothing that a run writes, says or stores has them. */

const secret = 'dIstinct/Secret+0001=='
const token = 'dIstinct/Token+0002=='
const wrong = 'dIstinct/Wrong+0003=='
const keys = {
  AWS_ACCESS_KEY_ID: 'AKDISTINCT0000000001',
  AWS_SECRET_ACCESS_KEY: secret,
  AWS_SESSION_TOKEN: token,
}
const url = 's3://draftsmith/run'
const sample = '62060ba602b02ce9c21d44ee516edab0'

/** As they are, and as URLs, headers and encodings would have them. */
const forms = [secret, token, wrong].flatMap((text) => [
  text,
  encodeURIComponent(text),
  Buffer.from(text).toString('base64').replace(/=+$/, ''),
  JSON.stringify(text).replaceAll('/', '\\/'),
])

function assertClean(bytes: Buffer, where: string): void {
  for (const form of forms) assert.ok(!bytes.includes(form), `${where}: ${form}`)
  for (const header of ['AWS4-HMAC-SHA256', 'x-amz-security-token', 'X-Amz-Security-Token']) {
    assert.ok(!bytes.includes(header), `${where}: ${header}`)
  }
}

const error = (code: string, status: number, times: number, key = sample) => ({
  match: { operation: 'PutObject', key },
  times,
  kind: 'error' as const,
  status,
  code,
})

test('credentials are in nothing that a run writes, says, stores or is refused for', async (t) => {
  const dir = folder(t)
  const s3 = await startS3(t, keys)
  const { endpoint } = s3
  const config = writeConfig(dir, 'job', { store: url, s3: { endpoint } })
  const said: [string, Ended][] = []
  const told = async (name: string, args: string[], env: Record<string, string> = keys) => {
    const ended = await draftsmith(args, { dir, env })
    said.push([name, ended])
    return ended.code
  }

  // While the first samples wait for their answers, a supervisor is asked for its status.
  await s3.setFaults([
    { match: { operation: 'PutObject', key: 'hidden-states/' }, times: 1000, kind: 'hold' },
  ])
  const running = start(t, ['run', config, '--json'], { dir, env: keys })
  const work = join(dir, 'job', 'work')
  await running.until('samples under way', async () => {
    const code = await told('status', ['status', '--work', work, '--json'])
    const uploading = code === 0 && JSON.parse(said.at(-1)?.[1].stdout ?? '').ledger?.uploading
    return uploading > 0 ? true : undefined
  })
  await s3.setFaults([
    error('ExpiredToken', 400, 2),
    error('SignatureDoesNotMatch', 403, 1, 'manifest/'),
    error('AccessDenied', 403, 1000),
  ])
  said.push(['run', await running.ended()])

  await s3.setFaults([])
  const wrongSecret = { ...keys, AWS_SECRET_ACCESS_KEY: wrong }
  assert.equal(await told('wrong secret', ['run', config], wrongSecret), 2)
  assert.equal(await told('check', ['check', config], wrongSecret), 2)
  const at = ['--endpoint', endpoint]
  assert.equal(await told('verify', ['verify', url, ...at], wrongSecret), 2)
  await s3.setFaults([{ times: 100_000, kind: 'error', status: 400, code: 'ExpiredToken' }])
  assert.notEqual(await told('expired', ['verify', url, ...at, '--json']), 0)
  await s3.setFaults([])
  assert.equal(await told('again', ['run', config, '--json']), 0)
  assert.equal(await told('whole', ['verify', url, '--deep', ...at]), 0)

  for (const [name, { stderr, stdout }] of said) {
    assertClean(Buffer.from(stdout), `${name}, stdout`)
    assertClean(Buffer.from(stderr), `${name}, stderr`)
  }
  const files = filesBelow(dir)
  assert.ok(
    files.some((file) => file.endsWith('draftsmith.jsonl')),
    String(files),
  )
  for (const file of files) assertClean(readFileSync(join(dir, file)), file)
  const store = await openStore(`s3://draftsmith/`, { endpoint }, { env: keys })
  let objects = 0
  for await (const { key } of store.list('')) {
    objects++
    assertClean(Buffer.from(key), 'a key')
    assertClean((await store.get(key)) ?? Buffer.alloc(0), key)
  }
  store.close()
  assert.ok(objects > 12, `objects=${objects}`)
})
