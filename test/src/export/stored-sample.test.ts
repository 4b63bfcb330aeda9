import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { Differing, readSample } from '../../../src/export/stored-sample.ts'
import { entryKey, type ManifestEntry } from '../../../src/manifest/entry.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { line } from '../../support/ledger-rig.ts'

/** A stored sample is read whole, and is the one that was stored, or it is not given. */

const bytes = Buffer.alloc((8 << 20) + 1000, 'sample')
const hash = 'ab'.repeat(16)

function entryOf(content: Uint8Array): ManifestEntry {
  return {
    ...line(hash),
    status: 'stored',
    length: content.length,
    crc32: crc32(content),
    tokens: 1,
  }
}

async function held(content: Uint8Array) {
  const store = new MemoryStore()
  const entry = entryOf(bytes)
  await store.put(entryKey(entry), content)
  return { store, entry }
}

const differs = (of: Promise<unknown>, words: RegExp) =>
  assert.rejects(of, (error) => error instanceof Differing && words.test(error.message))

test('stored sample: one of several requests’ length, and a part of a packed object', async () => {
  const { store, entry } = await held(bytes)
  assert.ok(bytes.equals(await readSample(store, entry)))
  const [offset, length] = [5, 100]
  const part = bytes.subarray(offset, offset + length)
  const packed = { ...entry, offset, length, crc32: crc32(part), key: entryKey(entry) }
  assert.ok(part.equals(await readSample(store, packed)))
})

test('stored sample: gone, cut or changed, it is not given', async () => {
  const changed = Buffer.from(bytes)
  changed[9_000_000 % bytes.length] ^= 1
  const { store, entry } = await held(changed)
  await differs(readSample(store, entry), /^crc32: want=\d+, found=\d+$/)
  await store.put(entryKey(entry), bytes.subarray(1))
  await differs(readSample(store, entry), /^size: want=8389608, found=8389607$/)
  await store.remove(entryKey(entry))
  await differs(readSample(store, entry), /^is not there$/)
})

test('stored sample: what arrives damaged once is asked for again', async () => {
  const { store, entry } = await held(bytes)
  let asked = 0
  const once: Pick<ObjectStore, 'get'> = {
    async get(key, range) {
      const piece = await store.get(key, range)
      if (asked++ > 0 || !piece) return piece
      const damaged = Buffer.from(piece)
      damaged[0] ^= 1
      return damaged
    },
  }
  assert.ok(bytes.equals(await readSample(once, entry)))
  assert.equal(asked, 4)
})
