/** Credentials that expire while a run goes on, by the real AWS chain. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { openStore } from '../../../src/store/open.ts'
import { embedded, tempFolder } from './opening.ts'

const file = join(tempFolder(), 'credentials')
const text = (value: string): Buffer => Buffer.from(value)
const write = (id: string): void =>
  writeFileSync(file, `[default]\naws_access_key_id = ${id}\naws_secret_access_key = of-${id}\n`)

before(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
  process.env.AWS_SHARED_CREDENTIALS_FILE = file
  process.env.AWS_CONFIG_FILE = '/dev/null'
  process.env.AWS_EC2_METADATA_DISABLED = 'true'
})

for (const code of ['ExpiredToken', 'RequestExpired', 'InvalidToken']) {
  test(`s3 credentials: at ${code} they are read again from the renewed file`, async () => {
    const server = await embedded()
    for (const id of ['K1', 'K2']) server.secrets.set(id, `of-${id}`)
    write('K1')
    const store = await openStore('s3://bucket', { endpoint: server.endpoint, pathStyle: true })
    await store.put('first', text('x'))
    const expired = { kind: 'error', status: 400, code } as const
    server.faults.push({ times: 1000, match: { accessKeyId: 'K1' }, ...expired })
    write('K2')
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`)
    await Promise.all(keys.map((key) => store.put(key, text(key))))
    assert.equal((await store.listPage({ prefix: '' })).objects.length, 21)
    store.close()
  })
}

test('s3 credentials: while nobody renews them it may pass, and the remedy says how', async () => {
  const server = await embedded()
  write('K1')
  server.faults.push({ times: 2, kind: 'error', status: 400, code: 'ExpiredToken' })
  server.secrets.set('K1', 'of-K1')
  const store = await openStore('s3://bucket', { endpoint: server.endpoint, pathStyle: true })
  await assert.rejects(store.put('k', text('x')), (error) => {
    return isFailure(error, 'unavailable') && /Renew/.test(error.remedy ?? '')
  })
  await store.put('k', text('x'))
  store.close()
})

test('s3 credentials: a token file that is not there is told at once, not asked for', async () => {
  const server = await embedded()
  process.env.AWS_WEB_IDENTITY_TOKEN_FILE = join(tempFolder(), 'absent')
  process.env.AWS_ROLE_ARN = 'arn:aws:iam::1:role/r'
  writeFileSync(file, '')
  try {
    const store = await openStore('s3://bucket', { endpoint: server.endpoint, pathStyle: true })
    await assert.rejects(store.put('k', text('x')), {
      kind: 'invalid',
      message: /a file of the credentials cannot be read.*code=ENOENT/,
      remedy: /AWS_WEB_IDENTITY_TOKEN_FILE/,
    })
    store.close()
  } finally {
    delete process.env.AWS_WEB_IDENTITY_TOKEN_FILE
    delete process.env.AWS_ROLE_ARN
  }
})
