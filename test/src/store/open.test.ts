import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { explain, isFailure } from '../../../src/failure.ts'
import { openStore } from '../../../src/store/open.ts'
import { embedded, env, tempFolder } from './opening.ts'

test('open: file:///path is a folder, spaces and all', async () => {
  const folder = join(tempFolder(), 'with space')
  const store = await openStore(`file://${folder.replace(' ', '%20')}/`)
  await store.put('k', Buffer.from('x'))
  assert.equal(store.url, `file://${folder.replace(' ', '%20')}`)
  assert.equal(String(await (await openStore(store.url)).get('k')), 'x')
})

test('open: s3://bucket/prefix: keys are relative to the prefix, others unseen', async () => {
  const server = await embedded()
  const s3 = { endpoint: server.endpoint, pathStyle: true }
  const store = await openStore('s3://bucket/runs/one/', s3, { env })
  const whole = await openStore('s3://bucket', s3, { env })
  await store.put('a/k', Buffer.from('x'))
  await whole.put('runs/one-more/k', Buffer.from('y'))
  assert.equal(store.url, 's3://bucket/runs/one')
  assert.equal(whole.url, 's3://bucket')
  const keys = async (from: typeof store) =>
    (await from.listPage({ prefix: '' })).objects.map(({ key }) => key)
  assert.deepEqual(await keys(store), ['a/k'])
  assert.deepEqual(await keys(whole), ['runs/one-more/k', 'runs/one/a/k'])
  for (const opened of [store, whole]) opened.close()
})

test('open: a host by its name, a bucket below it; a region set to nothing is none', async () => {
  const server = await embedded()
  const endpoint = server.endpoint.replace('127.0.0.1', 'localhost')
  const named = { env: { ...env, AWS_REGION: '' } }
  const store = await openStore('s3://bucket/named', { endpoint }, named)
  await store.put('k', Buffer.from('x'))
  assert.equal(String(await store.get('k')), 'x')
  store.close()
})

test('open: what is no store’s URL is refused, with what would be one', async () => {
  const urls = [
    '',
    'bucket/prefix',
    '/a/path',
    'http://host/bucket',
    's3://',
    's3:bucket',
    'file:///',
  ]
  const more = ['file://host/path', 's3://bucket?x=1', 's3://bucket:80/x']
  const odd = [
    'file:///%zz',
    'file:///a%2Fb',
    'file:///a%00b',
    's3://bucket/%zz',
    's3://bucket/%ff',
  ]
  for (const url of [...urls, ...more, ...odd]) {
    await assert.rejects(openStore(url), (error) => isFailure(error, 'invalid'), url)
  }
  await assert.rejects(
    openStore('gs://bucket'),
    (error) => isFailure(error) && /Write file:\/\/\/path or s3:/.test(error.remedy ?? ''),
  )
})

test('open: credentials in a URL are refused, and not repeated', async () => {
  for (const url of ['s3://key:hunter2@bucket/p', 'http://key:hunter2@host/p', 's3://k:hunter2@']) {
    await assert.rejects(
      openStore(url),
      (error) => isFailure(error, 'invalid') && !explain(error).includes('hunter2'),
    )
  }
})

test('open: without a region, or credentials, it says which variable to set', async () => {
  const nothing = { AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' }
  const before = { ...process.env }
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
  Object.assign(process.env, nothing, { AWS_EC2_METADATA_DISABLED: 'true' })
  try {
    const nowhere = await openStore('s3://bucket/p')
    await assert.rejects(nowhere.head('k'), (error) => {
      return isFailure(error, 'invalid') && /AWS_REGION/.test(error.remedy ?? '')
    })
    const nobody = await openStore('s3://bucket/p', {
      endpoint: 'http://127.0.0.1:9',
      pathStyle: true,
    })
    await assert.rejects(nobody.head('k'), (error) => {
      return isFailure(error, 'invalid') && /AWS_ACCESS_KEY_ID/.test(error.remedy ?? '')
    })
  } finally {
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, before)
  }
})
