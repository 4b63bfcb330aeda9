/** What a hostile index, or a disk that takes nothing, makes of fetching a dataset's copy. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { fetchDataset } from '../../../src/run/dataset-copy.ts'
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
  assert.ok(store.pieces > 0 && store.pieces < 10, `${store.pieces}`)
})

test('dataset fetch: a folder that takes no file is told, with what to do', async (t) => {
  const dir = join(await scratch(t), 'taken')
  await writeFile(dir, '')
  await assert.rejects(
    fetchDataset(await copyOf(content.length), dir, () => undefined),
    { kind: 'invalid', message: /cannot be kept. path=.*ENOTDIR/, remedy: /work/ },
  )
})
