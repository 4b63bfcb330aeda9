import assert from 'node:assert/strict'
import { appendFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { withWhole } from '../../../actors/uploader/read.ts'
import { hashOf } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

async function fileOf(path: string, bytes: Buffer) {
  await writeFile(path, bytes)
  return { hash: hashOf(1), tokens: 1, bytes: bytes.length, crc32: crc32(bytes) }
}

test('upload read: files of every size are lent whole, one after the other', async (t) => {
  const path = join(await scratch(t), 'file')
  for (const size of [0, 1, 300_000, 262_143, 262_144, 5_000_000, 7]) {
    const bytes = Buffer.alloc(size, `${size} bytes `)
    const sample = await fileOf(path, bytes)
    const same = await withWhole(path, sample, async (lent) => lent?.equals(bytes))
    assert.equal(same, true, `${size} bytes`)
  }
})

test('upload read: while one is lent, another never comes into its memory', async (t) => {
  const dir = await scratch(t)
  const read = async (index: number) => {
    const bytes = Buffer.alloc(100_000, `file ${index} `)
    const path = join(dir, `${index}`)
    const sample = await fileOf(path, bytes)
    return withWhole(path, sample, async (lent) => {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      return lent?.equals(bytes)
    })
  }
  for (let round = 0; round < 3; round++) {
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => read(20 * round + i)))
    assert.ok(all.every((same) => same === true))
  }
})

test('upload read: cut, longer, changed or gone: nothing is lent', async (t) => {
  const path = join(await scratch(t), 'file')
  const damage: (() => Promise<void>)[] = [
    () => truncate(path, 999),
    () => appendFile(path, 'x'),
    () => writeFile(path, Buffer.alloc(1000, 2)),
    () => rm(path),
  ]
  for (const harm of damage) {
    const sample = await fileOf(path, Buffer.alloc(1000, 1))
    await harm()
    assert.equal(await withWhole(path, sample, async (lent) => lent), undefined)
  }
})

test('upload read: what a disk refuses is told by name; a folder is no file', async (t) => {
  const dir = await scratch(t)
  const sample = { hash: hashOf(1), tokens: 1, bytes: 10, crc32: 0 }
  await assert.rejects(
    withWhole(dir, sample, async (lent) => lent),
    { name: 'Failure', kind: 'invalid', message: /spooled sample cannot be read/ },
  )
})
