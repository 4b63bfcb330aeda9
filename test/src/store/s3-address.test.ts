import assert from 'node:assert/strict'
import { test } from 'node:test'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { addressOf } from '../../../src/store/s3-address.ts'
import { meaningOf } from '../../../src/store/s3-errors.ts'

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' }

const addressAt = (config: S3ClientConfig, bucket = 'bucket') =>
  addressOf(new S3Client({ credentials, region: 'eu-west-1', ...config }), bucket)

test('s3 address: an endpoint, path style: its port and its path stay', async () => {
  const endpoint = 'http://127.0.0.1:9000/base'
  assert.deepEqual(await addressAt({ endpoint, forcePathStyle: true }), {
    secure: false,
    hostname: '127.0.0.1',
    port: 9000,
    host: '127.0.0.1:9000',
    path: '/base/bucket/',
    region: 'eu-west-1',
  })
})

test('s3 address: a host for each bucket, Amazon’s and others’', async () => {
  assert.deepEqual(await addressAt({}), {
    secure: true,
    hostname: 'bucket.s3.eu-west-1.amazonaws.com',
    host: 'bucket.s3.eu-west-1.amazonaws.com',
    path: '/',
    region: 'eu-west-1',
  })
  const r2 = await addressAt({ endpoint: 'https://r2.example.com:443', region: 'auto' })
  assert.deepEqual(
    [r2?.hostname, r2?.host, r2?.path, r2?.region, r2?.secure],
    ['bucket.r2.example.com', 'bucket.r2.example.com', '/', 'auto', true],
  )
  const dual = await addressAt({ useDualstackEndpoint: true })
  assert.equal(dual?.host, 'bucket.s3.dualstack.eu-west-1.amazonaws.com')
  const dotted = await addressAt({}, 'with.dots')
  assert.deepEqual([dotted?.host, dotted?.path], ['s3.eu-west-1.amazonaws.com', '/with.dots/'])
})

test('s3 address: an IPv6 address is dialled without its brackets', async () => {
  const v6 = await addressAt({ endpoint: 'http://[::1]:9000', forcePathStyle: true })
  assert.deepEqual([v6?.hostname, v6?.host], ['::1', '[::1]:9000'])
})

test('s3 address: the environment’s endpoint is followed as the SDK follows it', async (t) => {
  process.env.AWS_ENDPOINT_URL = 'http://127.0.0.1:1234'
  t.after(() => delete process.env.AWS_ENDPOINT_URL)
  assert.equal((await addressAt({ forcePathStyle: true }))?.host, '127.0.0.1:1234')
})

test('s3 address: a directory bucket, which is signed otherwise, is left to the SDK', async () => {
  assert.equal(await addressAt({}, 'name--euw1-az1--x-s3'), undefined)
})

test('s3 address: an endpoint that is no URL is an error that the table knows', async () => {
  await assert.rejects(addressAt({ endpoint: 'nowhere' }), (error) => {
    return meaningOf(error)?.kind === 'invalid'
  })
})
