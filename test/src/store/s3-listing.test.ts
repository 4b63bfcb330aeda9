/** Listings of a store, or of a proxy before it, that do not end as they should. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { retrying } from '../../../src/store/retry.ts'
import { HastyClock } from './hasty-clock.ts'
import { embedded, s3At } from './opening.ts'

const text = (value: string): Buffer => Buffer.from(value)

async function listed() {
  const server = await embedded()
  const plain = s3At(server.endpoint, {})
  const clock = new HastyClock()
  return { server, plain, store: retrying(plain, { attempts: 8, clock, random: seededRandom(3) }) }
}

test('s3 listing: a page that says that more follows, and not where, is no end', async () => {
  const { server, plain } = await listed()
  for (const key of ['dataset/a', 'dataset/b']) await plain.put(key, text('x'))
  const upload = await plain.startMultipart('dataset/c')
  const asks = [
    () => plain.listPage({ prefix: 'dataset/' }),
    () => plain.openMultiparts('dataset/'),
    () => upload.listParts(),
  ]
  for (const ask of asks) {
    server.faults.push({ times: 1, kind: 'lost-marker' })
    await assert.rejects(ask(), {
      kind: 'unavailable',
      message: /ends a listing in its middle. store=s3:\/\/bucket\/dataset/,
    })
  }
})

test('s3 listing: one that sends to one place over and over is given up', async () => {
  const { server, plain } = await listed()
  await plain.put('dataset/a', text('x'))
  const upload = await plain.startMultipart('dataset/c')
  const asks = [
    async () => {
      for await (const _ of plain.list('dataset/'));
    },
    () => plain.openMultiparts('dataset/'),
    () => upload.listParts(),
  ]
  for (const ask of asks) {
    server.faults.splice(0, server.faults.length, { times: 100, kind: 'stuck-marker' })
    await assert.rejects(ask(), { kind: 'invalid', message: /lists one page over and over/ })
    assert.equal(server.faults[0]?.times, 98)
  }
  server.faults.length = 0
})

test('s3 listing: an answer that goes on and on is broken off, and asked for again', async () => {
  const { server, plain, store } = await listed()
  await store.put('a', text('x'))
  const asks = [() => plain.listPage({ prefix: '' }), () => plain.openMultiparts('')]
  for (const ask of asks) {
    server.faults.push({ times: 1, kind: 'endless' })
    await assert.rejects(ask(), {
      kind: 'unavailable',
      message:
        /its answer does not end. store=s3:\/\/bucket\/.*, code=ANSWER_WITHOUT_END(, status=200)?$/,
    })
  }
  server.faults.push({ times: 1, kind: 'endless' })
  assert.deepEqual((await store.listPage({ prefix: '' })).objects.length, 1)
})

test('s3 listing: a page without an end is asked for again', async () => {
  const { server, store } = await listed()
  for (const key of ['a', 'b']) await store.put(key, text('x'))
  server.faults.push({ times: 2, kind: 'lost-marker' })
  assert.deepEqual((await store.listPage({ prefix: '' })).objects.length, 2)
})
