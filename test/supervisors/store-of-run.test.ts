import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimStore, configKey } from '../../src/run/stored-run.ts'
import { solePermits, soleStore } from '../../src/store/patient.ts'
import { storeOfRun } from '../../supervisors/store-of-run.ts'
import { identity } from '../src/audit/samples.ts'
import { embedded, env } from '../src/store/opening.ts'

const plan = { tokenBudget: 512, maxTokens: 512, outputBytesMax: 2 ** 31, limit: null, seed: 0 }
const wanted = { identity, plan, targetPath: '/models/q' }

test('store of a run: absent, it is told of soon; once there, waited for', async (t) => {
  Object.assign(process.env, env)
  const server = await embedded()
  const place = { url: 's3://bucket/run', s3: { endpoint: server.endpoint, pathStyle: true } }
  const use = { actor: 'test', acquire: solePermits(4) }
  const away = { kind: 'error', status: 503, code: 'ServiceUnavailable' } as const
  server.faults.push({ ...away, times: 100 })
  await assert.rejects(storeOfRun(place, use), { kind: 'unavailable', message: /attempts=5/ })
  server.faults.length = 0
  const sole = await soleStore(place)
  await claimStore(sole, wanted)
  const { run, store } = await storeOfRun(place, use)
  t.after(() => {
    sole.close()
    store.close()
  })
  assert.deepEqual(run.identity, identity)
  // More failures than the five that a first contact is given.
  server.faults.push({ ...away, times: 8 })
  assert.equal(await store.get('nothing'), undefined)
  assert.equal(server.faults.length, 0)
})

test('store of a run: it is spoken to as the run’s own configuration says', async (t) => {
  Object.assign(process.env, env)
  const server = await embedded()
  server.faults.push({ kind: 'refuse-checksums', times: 1000 })
  const given = { url: 's3://bucket/run', s3: { endpoint: server.endpoint } }
  const config = [
    'store: s3://bucket/run',
    's3: { checksums: when-required }',
    'work: ./work',
    'dataset: { path: ./rows }',
    'target: { path: ./target }',
  ]
  const older = await soleStore({ url: given.url, s3: { ...given.s3, checksums: 'when-required' } })
  await claimStore(older, wanted)
  await older.put(configKey, Buffer.from(config.join('\n')))
  const use = { actor: 'test', acquire: solePermits(4) }
  const { place, store } = await storeOfRun(given, use)
  t.after(() => {
    older.close()
    store.close()
  })
  assert.equal(place.s3.checksums, 'when-required')
  await store.put('manifest/lock.json', Buffer.from('taken'))
})
