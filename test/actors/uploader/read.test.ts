import assert from 'node:assert/strict'
import { appendFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { SpoolReader, type WantedFile } from '../../../actors/uploader/read.ts'
import { hashOf } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

async function fileOf(path: string, bytes: Buffer): Promise<WantedFile> {
  await writeFile(path, bytes)
  const sample = { hash: hashOf(1), tokens: 1, bytes: bytes.length, crc32: crc32(bytes) }
  return { path, sample, sum: true }
}

const isThere = async (lent: Buffer | undefined) => lent !== undefined

/** By a clock that stands still once a disk has been waited for. */
async function slowed(t: TestContext): Promise<SpoolReader> {
  let [now, stepMs] = [0, 100]
  const reader = new SpoolReader(() => {
    now += stepMs
    return now
  })
  const file = await fileOf(join(await scratch(t), 'slow'), Buffer.alloc(10))
  assert.equal(await reader.withWhole(file, isThere), true)
  stepMs = 0
  assert.equal(reader.way, 'pool')
  return reader
}

/** Both of them. */
const ways: Readonly<Record<string, (t: TestContext) => Promise<SpoolReader>>> = {
  here: async () => new SpoolReader(() => 0),
  pool: slowed,
}

for (const [way, readerOf] of Object.entries(ways)) {
  test(`upload read, ${way}: files of every size are lent whole, one by one`, async (t) => {
    const reader = await readerOf(t)
    const path = join(await scratch(t), 'file')
    for (const size of [0, 1, 300_000, 262_143, 262_144, 5_000_000, 7]) {
      const bytes = Buffer.alloc(size, `${size} bytes `)
      const file = await fileOf(path, bytes)
      const same = await reader.withWhole(file, async (lent) => lent?.equals(bytes))
      assert.equal(same, true, `${size} bytes`)
    }
    assert.equal(reader.way, way)
  })

  test(`upload read, ${way}: while one is lent, another never comes into its memory`, async (t) => {
    const reader = await readerOf(t)
    const dir = await scratch(t)
    const read = async (index: number) => {
      const bytes = Buffer.alloc(100_000, `file ${index} `)
      const file = await fileOf(join(dir, `${index}`), bytes)
      return reader.withWhole(file, async (lent) => {
        for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
        return lent?.equals(bytes)
      })
    }
    for (let round = 0; round < 3; round++) {
      const all = await Promise.all(Array.from({ length: 20 }, (_, i) => read(20 * round + i)))
      assert.ok(all.every((same) => same === true))
    }
  })

  test(`upload read, ${way}: cut, longer, changed or gone: nothing is lent`, async (t) => {
    const reader = await readerOf(t)
    const path = join(await scratch(t), 'file')
    const damage: (() => Promise<void>)[] = [
      () => truncate(path, 999),
      () => appendFile(path, 'x'),
      () => rm(path),
      () => writeFile(path, Buffer.alloc(1000, 2)),
    ]
    for (const harm of damage) {
      const file = await fileOf(path, Buffer.alloc(1000, 1))
      await harm()
      assert.equal(await reader.withWhole(file, isThere), false)
    }
    // The last one has its length: without its sum, nothing tells here.
    const unsummed = { ...(await fileOf(path, Buffer.alloc(1000, 1))), sum: false }
    await writeFile(path, Buffer.alloc(1000, 2))
    assert.equal(await reader.withWhole(unsummed, isThere), true)
    await truncate(path, 999)
    assert.equal(await reader.withWhole(unsummed, isThere), false)
  })

  test(`upload read, ${way}: what a disk refuses is told; a folder is no file`, async (t) => {
    const reader = await readerOf(t)
    const path = await scratch(t)
    const sample = { hash: hashOf(1), tokens: 1, bytes: 10, crc32: 0 }
    await assert.rejects(reader.withWhole({ path, sample, sum: true }, isThere), {
      name: 'Failure',
      kind: 'invalid',
      message: /spooled sample cannot be read/,
    })
  })
}

test('upload read: after a while, a disk that was slow is tried here again', async (t) => {
  let [now, stepMs] = [0, 7]
  const reader = new SpoolReader(() => {
    now += stepMs
    return now
  })
  const file = await fileOf(join(await scratch(t), 'file'), Buffer.alloc(10))
  const read = async (times: number) => {
    for (let i = 0; i < times; i++) await reader.withWhole(file, isThere)
    return reader.way
  }
  assert.equal(await read(100), 'here')
  // One that had to wait for a core is no slow disk; all of them are.
  stepMs = 15
  assert.equal(await read(1), 'here')
  stepMs = 10
  assert.equal(await read(20), 'pool')
  now += 1000
  assert.equal(reader.way, 'here')
})
