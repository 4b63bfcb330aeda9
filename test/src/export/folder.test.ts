import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FileToWrite, writeFolder } from '../../../src/export/folder.ts'
import { isFailure } from '../../../src/failure.ts'
import { scratch } from '../../support/target-run.ts'

/** An exported folder: whole, and never in the place of anything that was not to be replaced. */

const file = (name: string, ...texts: string[]): FileToWrite => ({
  name,
  parts: texts.map((text) => Buffer.from(text)),
})
const files = [file('weights', 'abc', 'def'), file('config', '{}')]
const careful = { overwrite: false }

async function contentOf(dir: string): Promise<Record<string, string>> {
  const names = (await readdir(dir)).sort()
  const texts = await Promise.all(names.map((name) => readFile(join(dir, name), 'utf8')))
  return Object.fromEntries(names.map((name, i) => [name, texts[i]]))
}

const refusesOthers = (dir: string, ...names: string[]) =>
  assert.rejects(writeFolder(dir, files, careful), (error) => {
    assert.ok(isFailure(error, 'invalid'), String(error))
    assert.ok(error.message.includes(`found=${names.join(', ')}`), error.message)
    assert.match(error.remedy ?? '', /--overwrite/)
    return true
  })

test('export folder: made with those above it; the same once more changes nothing', async (t) => {
  const dir = join(await scratch(t), 'a', 'b')
  assert.equal(await writeFolder(dir, files, careful), true)
  assert.deepEqual(await contentOf(dir), { config: '{}', weights: 'abcdef' })
  assert.equal(await writeFolder(dir, files, careful), false)
})

test('export folder: what was cut short is finished, in mid-file too', async (t) => {
  const dir = await scratch(t)
  await writeFile(join(dir, 'weights.partial'), 'ab')
  assert.equal(await writeFolder(dir, files, careful), true)
  await rm(join(dir, 'config'))
  await writeFile(join(dir, 'config.partial'), '{')
  assert.equal(await writeFolder(dir, files, careful), true)
  assert.deepEqual(await contentOf(dir), { config: '{}', weights: 'abcdef' })
})

test('export folder: other content is refused by name, and stays', async (t) => {
  const dir = await scratch(t)
  const others = { config: '{ }', notes: 'mine', weights: 'abcdeg' }
  for (const [name, text] of Object.entries(others)) await writeFile(join(dir, name), text)
  await refusesOthers(dir, 'notes', 'weights', 'config')
  assert.deepEqual(await contentOf(dir), others)

  assert.equal(await writeFolder(dir, files, { overwrite: true }), true)
  assert.deepEqual(await contentOf(dir), { config: '{}', notes: 'mine', weights: 'abcdef' })
})

test('export folder: told to overwrite, it takes the last file away first', async (t) => {
  const dir = await scratch(t)
  await writeFile(join(dir, 'config'), '{ }')
  const cutShort = {
    name: 'weights',
    get parts(): Uint8Array[] {
      throw new Error('cut short')
    },
  }
  const writing = writeFolder(dir, [cutShort, file('config', '{}')], { overwrite: true })
  await assert.rejects(writing, /cut short/)
  assert.deepEqual(await readdir(dir), [])
})

for (const name of ['weights', 'config', 'config.partial']) {
  test(`export folder: a folder named ${name} is named, and nothing is changed`, async (t) => {
    const dir = await scratch(t)
    await mkdir(join(dir, name))
    await assert.rejects(writeFolder(dir, files, { overwrite: true }), (error) => {
      assert.ok(isFailure(error, 'invalid'), String(error))
      assert.ok(error.message.endsWith(`path=${join(dir, name)}`), error.message)
      assert.match(error.remedy ?? '', /^Move it away/)
      return true
    })
    assert.deepEqual(await readdir(dir), [name])
  })
}

test('export folder: a file in its place is named', async (t) => {
  const dir = join(await scratch(t), 'taken')
  await writeFile(dir, 'a file')
  await assert.rejects(
    writeFolder(dir, files, { overwrite: true }),
    (error) => isFailure(error, 'invalid') && error.message.includes(`path=${dir}, code=ENOTDIR`),
  )
})
