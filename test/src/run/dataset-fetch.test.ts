/** What a hostile index, or a disk that takes nothing, makes of fetching a dataset's copy. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { fetchDataset } from '../../../src/run/dataset-fetch.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { scratch } from '../../support/target-run.ts'

const content = Buffer.from('rows')

class Asked extends MemoryStore {
  pieces = 0

  override get(key: string, range?: { readonly start: number; readonly end: number }) {
    if (range) this.pieces++
    return super.get(key, range)
  }
}

/** A copy of one file, as its index has it. */
async function copyOf(bytes: number): Promise<Asked> {
  const store = new Asked()
  const files = [{ path: 'a/b.arrow', bytes, crc32: crc32(content) }]
  const index = { format: 1, fingerprint: 'f', entry: '.', files }
  await store.put('dataset/a/b.arrow', content)
  await store.put('dataset/index.json', Buffer.from(JSON.stringify(index)))
  return store
}

test('dataset fetch: an index that promises more than there is asks for no more', async (t) => {
  const store = await copyOf(2 ** 50)
  await assert.rejects(
    fetchDataset(store, await scratch(t), () => undefined),
    { kind: 'corrupt', message: /bytes: want=1125899906842624, found=4/ },
  )
  // It is tried twice, eight pieces at once.
  assert.ok(store.pieces > 0 && store.pieces <= 16, `${store.pieces}`)
})

test('dataset fetch: a folder that takes no file is told, with what to do', async (t) => {
  const dir = join(await scratch(t), 'taken')
  await writeFile(dir, '')
  await assert.rejects(
    fetchDataset(await copyOf(content.length), dir, () => undefined),
    { kind: 'invalid', message: /cannot be kept. path=.*ENOTDIR/, remedy: /work/ },
  )
})

test('dataset fetch: many pieces arrive in order, a few asked for at once', async (t) => {
  let [underWay, most] = [0, 0]
  class Busy extends MemoryStore {
    override async get(key: string, range?: { readonly start: number; readonly end: number }) {
      most = Math.max(most, ++underWay)
      // The later a piece lies, the sooner it comes.
      await new Promise((resolve) => setTimeout(resolve, range?.start === 0 ? 20 : 1))
      underWay--
      return await super.get(key, range)
    }
  }
  const bytes = Buffer.alloc(20 * 2 ** 20 + 3, 'one after the other, ')
  const store = new Busy()
  const files = [{ path: 'b.arrow', bytes: bytes.length, crc32: crc32(bytes) }]
  const index = { format: 1, fingerprint: 'f', entry: 'b.arrow', files }
  await store.put('dataset/b.arrow', bytes)
  await store.put('dataset/index.json', Buffer.from(JSON.stringify(index)))
  const path = await fetchDataset(store, await scratch(t), () => undefined)
  assert.ok(bytes.equals(await readFile(path)))
  assert.equal(most, 3)
})
