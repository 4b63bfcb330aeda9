import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeBy } from '../../../src/store/store-time.ts'
import { embedded, s3At } from './opening.ts'

test('store time: what the store stamps an object with, which is not left there', async () => {
  const server = await embedded()
  const store = s3At(server.endpoint)
  const from = Date.now()
  const time = await timeBy(store)
  // It tells whole seconds.
  assert.ok(time !== undefined && time >= from - 1000 && time <= Date.now())
  assert.deepEqual((await store.listPage({ prefix: '' })).objects, [])
})

test('store time: unknown where nothing may be put; else an error', async () => {
  const server = await embedded()
  const store = s3At(server.endpoint)
  const put = { match: { operation: 'PutObject' }, kind: 'error', times: 1 } as const
  server.faults.push({ ...put, status: 403, code: 'AccessDenied' })
  assert.equal(await timeBy(store), undefined)
  server.faults.push({ ...put, status: 503, code: 'SlowDown' })
  await assert.rejects(timeBy(store), { kind: 'unavailable' })
})
