import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { Failure, isFailure } from '../../../src/failure.ts'
import { confirm, probeConfirmation } from '../../../src/store/confirm.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Body, PutOptions } from '../../../src/store/store.ts'
import { embedded, s3At } from './opening.ts'

const body = Buffer.from('what was sent')
const sent = { crc32: crc32(body), size: body.length, body }
const md5 = createHash('md5').update(body).digest('hex')
const corrupt = (error: unknown): boolean => isFailure(error, 'corrupt')

test('confirm: the store’s own checksum decides, both ways', async () => {
  const nothing = new MemoryStore()
  assert.equal(await confirm(nothing, 'k', { crc32: sent.crc32, etag: 'x' }, sent), 'checksum')
  await assert.rejects(confirm(nothing, 'k', { crc32: 1, etag: md5 }, sent), corrupt)
})

test('confirm: an ETag that is the MD5 proves it, one that is not proves nothing', async () => {
  const store = new MemoryStore()
  assert.equal(await confirm(store, 'k', { etag: md5.toUpperCase() }, sent), 'etag')
  assert.equal(await confirm(store, 'k', { etag: md5, sentMd5: md5 }, sent), 'etag')
  await assert.rejects(confirm(store, 'k', { etag: '0'.repeat(32) }, sent), corrupt)
  await store.put('k', body)
  assert.equal(await confirm(store, 'k', { etag: '0'.repeat(32) }, sent), 'read-back')
  assert.equal(await confirm(store, 'k', { etag: `${md5}-2` }, sent), 'read-back')
})

test('confirm: read back, the object must be there, as long, and the same', async () => {
  const store = new MemoryStore()
  await assert.rejects(confirm(store, 'k', {}, sent), corrupt)
  for (const wrong of [
    body.subarray(1),
    Buffer.concat([body, body]),
    Buffer.from('WHAT WAS SENT'),
  ]) {
    await store.put('k', wrong)
    await assert.rejects(confirm(store, 'k', {}, sent), corrupt)
  }
  await store.put('k', body)
  assert.equal(await confirm(store, 'k', {}, sent), 'read-back')
})

test('confirm: a server that keeps half and answers 200 is found out', async () => {
  const server = await embedded()
  const store = s3At(server.endpoint)
  server.faults.push({ times: 1, kind: 'truncate' })
  const half = await store.put('k', body, { crc32: sent.crc32 })
  await assert.rejects(confirm(store, 'k', half, sent), corrupt)
  const whole = await store.put('k', body, { crc32: sent.crc32 })
  assert.equal(await confirm(store, 'k', whole, sent), 'checksum')
  const older = s3At(server.endpoint, { checksums: 'when-required' })
  const taken = await older.put('k', body)
  assert.equal(taken.sentMd5, md5, 'computed for the put, and not once more')
  assert.equal(await confirm(older, 'k', taken, sent), 'etag')
})

test('confirm: the rung of a store is tried on an object that goes again', async () => {
  const server = await embedded()
  const store = s3At(server.endpoint)
  assert.deepEqual(await probeConfirmation(store), { rung: 'checksum', refuses: true })
  const older = s3At(server.endpoint, { checksums: 'when-required' })
  assert.deepEqual(await probeConfirmation(older), { rung: 'etag', refuses: false })
  assert.deepEqual((await store.listPage({ prefix: '' })).objects, [])
})

test('confirm: a store that answers with whatever CRC-32 it was sent refuses nothing', async () => {
  const echoing = new (class extends MemoryStore {
    override async put(key: string, bytes: Body, options: PutOptions = {}) {
      await super.put(key, bytes)
      return options.crc32 === undefined ? {} : { crc32: options.crc32 }
    }
  })()
  assert.deepEqual(await probeConfirmation(echoing), { rung: 'checksum', refuses: false })
  assert.deepEqual((await echoing.listPage({ prefix: '' })).objects, [])
})

test('confirm: a store that cannot be asked now is not taken for one that refuses', async () => {
  const away = new (class extends MemoryStore {
    override async put(key: string, bytes: Body, options: PutOptions = {}) {
      if (key.endsWith('-wrong')) throw new Failure('unavailable', 'timeout')
      return super.put(key, bytes, options)
    }
  })()
  await assert.rejects(probeConfirmation(away), { kind: 'unavailable' })
})
