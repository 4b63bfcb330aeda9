/** What every store promises: one suite, run on each of them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { isFailure } from '../../../src/failure.ts'
import { conditionalPuts } from '../../../src/store/conditional.ts'
import { confirm } from '../../../src/store/confirm.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { filler, keysOf } from './contents.ts'
import { tempFolder } from './opening.ts'
import { partsConformance } from './parts-conformance.ts'

const MIB = 1 << 20
const text = (value: string): Buffer => Buffer.from(value)
const sizes = [0, 1, 70_000, MIB + 1]

/** A test of what every store promises. */
export type Claim = (what: string, work: (store: ObjectStore) => Promise<void>) => void

/** `open` gives an empty store for each test, or skips it and gives none. */
export function conformance(
  name: string,
  open: (t: TestContext) => Promise<ObjectStore | undefined>,
): void {
  const claim: Claim = (what, work) => {
    test(`${name}: ${what}`, async (t) => {
      const store = await open(t)
      if (store) await work(store)
    })
  }

  claim('what is put is got, headed and listed, byte for byte', async (store) => {
    for (const size of sizes) {
      const key = `sizes/${size}`
      const body = filler(size)
      const ack = await store.put(key, body, { crc32: crc32(body) })
      const sent = { crc32: crc32(body), size, body }
      assert.notEqual(await confirm(store, key, ack, sent), 'read-back')
      assert.deepEqual(await store.get(key), body)
      const info = await store.head(key)
      assert.equal(info?.size, size)
      assert.equal(info.key, key)
      assert.ok(Math.abs(info.lastModified - Date.now()) < 600_000)
      if (ack.etag !== undefined) assert.equal(info.etag, ack.etag)
    }
    const listed = new Map<string, number>()
    for await (const { key, size } of store.list('sizes/')) listed.set(key, size)
    assert.deepEqual(listed, new Map(sizes.map((size) => [`sizes/${size}`, size])))
  })

  claim('a stretch of a file is stored as it lies there', async (store) => {
    const path = join(tempFolder(), 'spooled')
    const bytes = filler(3 * MIB)
    writeFileSync(path, bytes)
    const stretch = bytes.subarray(1000, 2 * MIB + 1000)
    await store.put('file', { path, offset: 1000, length: 2 * MIB }, { crc32: crc32(stretch) })
    assert.deepEqual(await store.get('file'), stretch)
  })

  claim('pieces of memory are stored as one body', async (store) => {
    const bytes = filler(3 * MIB)
    const cuts = [0, 5, 5, 1000, 2 * MIB + 3, 3 * MIB]
    const pieces = cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end))
    const body = { pieces, length: bytes.length }
    const ack = await store.put('pieces', body, { crc32: crc32(bytes) })
    const sent = { crc32: crc32(bytes), size: bytes.length, body }
    assert.notEqual(await confirm(store, 'pieces', ack, sent), 'read-back')
    assert.deepEqual(await store.get('pieces'), bytes)
  })

  claim(
    'bytes that are not those of the CRC-32 are refused, and nothing is stored',
    async (store) => {
      const path = join(tempFolder(), 'spooled')
      writeFileSync(path, 'torn')
      const body = { path, offset: 0, length: 4 }
      const wrong = { crc32: crc32('whole') }
      await assert.rejects(store.put('k', body, wrong), (e) => isFailure(e, 'corrupt'))
      await assert.rejects(store.putIfAbsent('k', body, wrong), (e) => isFailure(e, 'corrupt'))
      const short = { path, offset: 0, length: 5 }
      await assert.rejects(store.put('k', short), (e) => isFailure(e, 'corrupt'))
      const gone = { path: `${path}.gone`, offset: 0, length: 5 }
      await assert.rejects(store.put('k', gone), (e) => isFailure(e, 'corrupt'))
      assert.equal(await store.head('k'), undefined)
      assert.deepEqual(await keysOf(store.list('')), [])
    },
  )

  claim('what is absent is undefined, and may be removed', async (store) => {
    assert.equal(await store.get('a/b/c'), undefined)
    assert.equal(await store.get('a/b/c', { start: 0, end: 1 }), undefined)
    assert.equal(await store.head('a/b/c'), undefined)
    await store.remove('a/b/c')
    await store.put('a/b/c', text('x'))
    assert.equal(await store.get('a/b'), undefined)
    assert.equal(await store.head('a/b'), undefined)
    assert.equal(await store.get('a/b/c/d'), undefined)
    await store.remove('a/b/c')
    assert.equal(await store.get('a/b/c'), undefined)
    assert.deepEqual(await keysOf(store.list('')), [])
  })

  claim('put overwrites', async (store) => {
    await store.put('k', text('longer than the other'))
    await store.put('k', text('short'))
    assert.equal(String(await store.get('k')), 'short')
    assert.equal((await store.head('k'))?.size, 5)
  })

  claim('a range is cut to what is there', async (store) => {
    await store.put('k', text('0123456789'))
    const range = async (start: number, end: number) => String(await store.get('k', { start, end }))
    assert.equal(await range(0, 10), '0123456789')
    assert.equal(await range(3, 5), '34')
    assert.equal(await range(8, 100), '89')
    assert.equal(await range(10, 20), '')
    assert.equal(await range(4, 4), '')
  })

  claim('a list has every key under the prefix, in the order of their bytes', async (store) => {
    const keys = [
      'a',
      'a-b',
      'a.b',
      'a0',
      'ab/c',
      'ab/c.d',
      'ab/c0/d',
      'b/é',
      'b/ﬁ',
      'b/🜁',
      'c d+e&f=%20',
    ]
    for (const key of [...keys].reverse()) await store.put(key, text(key))
    assert.deepEqual(await keysOf(store.list('')), keys)
    assert.deepEqual(await keysOf(store.list('a')), keys.slice(0, 7))
    assert.deepEqual(await keysOf(store.list('ab/c')), keys.slice(4, 7))
    assert.deepEqual(await keysOf(store.list('ab/c0')), ['ab/c0/d'])
    assert.deepEqual(await keysOf(store.list('b/')), ['b/é', 'b/ﬁ', 'b/🜁'])
    assert.deepEqual(await keysOf(store.list('none/')), [])
    for (const key of keys) assert.equal(String(await store.get(key)), key)
  })

  claim('putIfAbsent: of twenty rivals one wins, and its bytes stay', async (store) => {
    const rivals = Array.from({ length: 20 }, (_, i) => `rival ${i}`)
    const won = await Promise.all(rivals.map((rival) => store.putIfAbsent('lock', text(rival))))
    const winners = rivals.filter((_, i) => won[i])
    assert.equal(winners.length, 1)
    assert.equal(String(await store.get('lock')), winners[0])
    assert.equal(await store.putIfAbsent('lock', text('late')), false)
  })

  claim('putIfMatch: of twenty rivals one wins, and only on the etag that is', async (store) => {
    assert.equal(await store.putIfMatch('lock', text('x'), 'no-such-etag'), false)
    assert.equal(await store.get('lock'), undefined)
    await store.put('lock', text(randomUUID()))
    for (let round = 0; round < 3; round++) {
      const etag = (await store.head('lock'))?.etag ?? ''
      const rivals = Array.from({ length: 20 }, () => randomUUID())
      const tries = rivals.map((rival) => store.putIfMatch('lock', text(rival), etag))
      const won = await Promise.all(tries)
      const winners = rivals.filter((_, i) => won[i])
      assert.equal(winners.length, 1)
      assert.equal(String(await store.get('lock')), winners[0])
    }
  })

  claim('it honours conditions, and the probe for that leaves nothing', async (store) => {
    assert.deepEqual(await conditionalPuts(store), { honoured: true })
    assert.deepEqual(await keysOf(store.list('')), [])
  })

  partsConformance(claim)

  claim('a key that could leave the store is refused', async (store) => {
    const bad = [
      '',
      '/a',
      'a/',
      'a//b',
      '..',
      'a/../b',
      './a',
      'a\\b',
      'a\0b',
      'a\nb',
      '.draftsmith/x',
    ]
    for (const key of [...bad, 'a'.repeat(1025), 'half \ud800 pair']) {
      await assert.rejects(store.put(key, text('x')), (e) => isFailure(e, 'invalid'), key)
      await assert.rejects(store.get(key), (e) => isFailure(e, 'invalid'), key)
      await assert.rejects(store.remove(key), (e) => isFailure(e, 'invalid'), key)
    }
    await assert.rejects(keysOf(store.list('../')), (e) => isFailure(e, 'invalid'))
    assert.deepEqual(await keysOf(store.list('')), [])
  })

  claim('a caller that has given up gets its own reason, and nothing is stored', async (store) => {
    const signal = AbortSignal.abort(new Error('stopped'))
    await assert.rejects(store.put('k', text('x'), { signal }), { message: 'stopped' })
    assert.equal(await store.get('k'), undefined)
  })
}
