import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { deferred } from '../../../protocol/deferred.ts'
import { systemDisk } from '../../../src/disk.ts'
import { Guests } from '../../../src/spool/guests.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { folder } from './folder.ts'

/** Four fetched samples of 100 bytes, on a disk that lists them so. */
async function laidOut(t: TestContext, list = systemDisk.list) {
  const work = folder(t)
  const cache = await openSpool(join(work, 'cache'))
  for (let n = 0; n < 4; n++) {
    const sample = { hash: `${n}`.repeat(32), tokens: 1, bytes: 100, crc32: 0 }
    await cache.add({ ...sample, parts: [new Uint8Array(100)] })
  }
  const guests = new Guests(work, { disk: { ...systemDisk, list }, random: Math.random })
  return { guests, there: async () => (await cache.list()).samples.length }
}

test('guests: two who ask at one moment find the same, and what has gone stays away', async (t) => {
  const { promise: late, resolve } = deferred<void>()
  let lists = 0
  const { guests, there } = await laidOut(t, async (path) => {
    const found = await systemDisk.list(path)
    if (lists++ > 0) await late
    return found
  })
  const both = [guests.makeWay(250), guests.bytes()]
  await both[0]
  resolve()
  await both[1]
  assert.deepEqual([await guests.bytes(), await there()], [100, 1])
})

test('guests: a folder that could not be read is tried again', async (t) => {
  let lists = 0
  const { guests } = await laidOut(t, async (path) => {
    if (lists++ === 0) throw Object.assign(new Error('no'), { code: 'EACCES', syscall: 'scandir' })
    return await systemDisk.list(path)
  })
  await assert.rejects(guests.bytes(), { kind: 'invalid' })
  assert.equal(await guests.bytes(), 400)
})
