import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFiles, guessedRow } from '../../../src/sample/find.ts'
import { makePipes } from '../../src/spool/folder.ts'
import { scratch } from '../../support/target-run.ts'

test('find: safetensors files in a folder and below, in the order of counting', async (t) => {
  const dir = await scratch(t)
  await mkdir(join(dir, 'b/deep'), { recursive: true })
  const names = [
    'hs_10.safetensors',
    'hs_9.safetensors',
    'b/deep/hs_1.safetensors',
    'a.safetensors',
  ]
  for (const name of [...names, 'hs_2.safetensors.tmp', 'notes.txt', '.x.safetensors.ab.tmp']) {
    await writeFile(join(dir, name), '')
  }
  assert.deepEqual(await findFiles(dir), [
    'a.safetensors',
    'b/deep/hs_1.safetensors',
    'hs_9.safetensors',
    'hs_10.safetensors',
  ])
})

test('find: links to files count, links to folders are not followed', async (t) => {
  const dir = await scratch(t)
  await writeFile(join(dir, 'real'), '')
  await symlink(join(dir, 'real'), join(dir, 'link.safetensors'))
  await symlink(join(dir, 'nowhere'), join(dir, 'dangling.safetensors'))
  await symlink(join(dir, 'loop.safetensors'), join(dir, 'loop.safetensors'))
  await symlink(dir, join(dir, 'again'))
  await mkdir(join(dir, 'folder.safetensors'))
  if (!makePipes(t, [join(dir, 'pipe.safetensors')])) return
  assert.deepEqual(await findFiles(dir), ['link.safetensors'])
})

test('find: a folder that is not there is told', async (t) => {
  await assert.rejects(findFiles(join(await scratch(t), 'none')), { kind: 'invalid' })
})

test('find: the name of a file of speculators tells a row, no other name does', () => {
  assert.equal(guessedRow('hs_17.safetensors'), 17)
  assert.equal(guessedRow('a/b/hs_0.safetensors'), 0)
  for (const name of [
    'ths_1.safetensors',
    'hs_x.safetensors',
    'hs_9999999999.safetensors',
    'hs_1',
  ]) {
    assert.equal(guessedRow(name), undefined, name)
  }
})
