import assert from 'node:assert/strict'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { deferred } from '../../../protocol/deferred.ts'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { RowHashes, rowHashesFile, rowHashesKey } from '../../../src/dataset/row-hashes.ts'
import { Failure } from '../../../src/failure.ts'
import { findRowHashes, keepRowHashes, openRowHashes } from '../../../src/run/kept-hashes.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { silent } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

const of = { rows: 3, fingerprint: Buffer.alloc(32, 7) }
const hashOf = (row: number) => contentHash(Int32Array.of(row))

async function open(t: TestContext, store: ObjectStore = new MemoryStore()) {
  const place = { work: await scratch(t), store }
  const hashes = await openRowHashes(of, place, silent)
  return { place, hashes, kept: keepRowHashes(hashes, { ...place, log: silent }) }
}

test('kept hashes: what one start has gathered the next finds, here or in the store', async (t) => {
  const { place, hashes, kept } = await open(t)
  assert.equal(hashes.known, 0)
  hashes.set(1, hashOf(1))
  await kept.now()
  const decode = (bytes: Uint8Array) => RowHashes.decodeAny(bytes)
  assert.equal((await findRowHashes(place, decode))?.from, 'work folder')
  await rm(rowHashesFile(place.work))
  assert.equal((await findRowHashes(place, decode))?.from, 'store')
  assert.equal((await findRowHashes({ ...place, work: null }, decode))?.hashes.known, 1)
  const again = await openRowHashes(of, place, silent)
  assert.deepEqual(again.get(1), new Uint8Array(hashOf(1)))
})

test('kept hashes: a table here that is of no use is told, and the store is asked', async (t) => {
  const { place, hashes, kept } = await open(t)
  hashes.set(1, hashOf(1))
  await kept.now()
  new RowHashes(9, of.fingerprint).save(rowHashesFile(place.work))
  const refused: Failure[] = []
  const decode = (bytes: Uint8Array) => RowHashes.decode(bytes, of.rows, of.fingerprint)
  const found = await findRowHashes(place, decode, (failure) => refused.push(failure))
  assert.deepEqual([found?.from, found?.hashes.known], ['store', 1])
  assert.match(refused[0].message, /of another dataset. want=3 rows, found=9/)
})

test('kept hashes: saved when there are more; what the store missed it gets later', async (t) => {
  let puts = 0
  class OnceAway extends MemoryStore {
    override async put(...args: Parameters<MemoryStore['put']>) {
      puts += 1
      if (puts === 1) throw new Failure('unavailable', 'the line is down')
      return await super.put(...args)
    }
  }
  const { place, hashes, kept } = await open(t, new OnceAway())
  await kept.now()
  assert.equal(puts, 0)
  hashes.set(1, hashOf(1))
  await kept.now()
  assert.deepEqual([puts, await place.store.head(rowHashesKey)], [1, undefined])
  await kept.now()
  await kept.now()
  assert.equal(puts, 2)
  const inStore = await findRowHashes({ ...place, work: null }, (b) => RowHashes.decodeAny(b))
  assert.equal(inStore?.hashes.known, 1)
})

test('kept hashes: whoever saves the last of them waits for a saving under way', async (t) => {
  const [begun, line] = [deferred<void>(), deferred<void>()]
  class Slow extends MemoryStore {
    override async put(...args: Parameters<MemoryStore['put']>) {
      begun.resolve()
      await line.promise
      return await super.put(...args)
    }
  }
  const { place, hashes, kept } = await open(t, new Slow())
  hashes.set(1, hashOf(1))
  const first = kept.now()
  await begun.promise
  hashes.set(2, hashOf(2))
  const last = Promise.all([kept.now(), kept.now()])
  line.resolve()
  await last
  const inStore = await findRowHashes({ ...place, work: null }, (b) => RowHashes.decodeAny(b))
  assert.equal(inStore?.hashes.known, 2)
  await first
})

test('kept hashes: a disk that will not take them ends nothing', async (t) => {
  const { place, hashes, kept } = await open(t)
  // Nothing can be renamed onto a folder that holds something.
  await mkdir(join(rowHashesFile(place.work), 'in the way'), { recursive: true })
  hashes.set(1, hashOf(1))
  await kept.now()
  assert.equal(await place.store.head(rowHashesKey), undefined)
  // Nor is it read: a cache that cannot be opened is none.
  assert.equal((await openRowHashes(of, place, silent)).known, 0)
})
