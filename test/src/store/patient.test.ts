import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../../src/log.ts'
import { patientStore, soleStore } from '../../../src/store/patient.ts'
import { Permits } from '../../../src/store/permits.ts'
import { embedded, env } from './opening.ts'

const log = openLog({ actor: 'test', level: 'info', stderr: 'none' })

test('patient: each try takes a permit of its own, and what may pass is asked again', async (t) => {
  Object.assign(process.env, env)
  const server = await embedded()
  server.faults.push({ times: 2, kind: 'error', status: 503, code: 'SlowDown' })
  const permits = new Permits(1)
  let taken = 0
  const take = permits.taker('test', 'sample')
  const acquire = () => {
    taken += 1
    return take()
  }
  const place = { url: 's3://bucket/run', s3: { endpoint: server.endpoint, pathStyle: true } }
  let tried = 0
  const onTried = () => {
    tried += 1
  }
  const store = await patientStore(place, { acquire, attempts: 5, log, onTried })
  t.after(() => store.close())
  await store.put('k', Buffer.from('body'))
  assert.equal(String(await store.get('k')), 'body')
  assert.deepEqual([taken, tried], [4, 4])
  assert.equal(permits.status.open, 0)
})

test('patient: it gives up after so many attempts, and says how many', async (t) => {
  Object.assign(process.env, env)
  const server = await embedded()
  server.faults.push({ times: 10, kind: 'error', status: 503, code: 'SlowDown' })
  const acquire = new Permits(1).taker('test', 'sample')
  const place = { url: 's3://bucket/run', s3: { endpoint: server.endpoint, pathStyle: true } }
  const store = await patientStore(place, { acquire, attempts: 2, log })
  t.after(() => store.close())
  await assert.rejects(store.head('k'), { kind: 'unavailable', message: /attempts=2/ })
})

test('patient: who uses a store alone keeps to a cap, however much it begins', async (t) => {
  Object.assign(process.env, env)
  const server = await embedded()
  // Answered once nine are open together; one of ten is kept, though here nobody needs it.
  server.faults.push({ times: 9, match: { operation: 'HeadObject' }, kind: 'hold' })
  const place = { url: 's3://bucket/run', s3: { endpoint: server.endpoint, pathStyle: true } }
  const store = await soleStore(place, { maxParallel: 10 })
  t.after(() => store.close())
  await Promise.all(Array.from({ length: 40 }, (_, i) => store.head(`k${i}`)))
  assert.equal(server.stats.peak, 9)
})
