import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasCode } from '../../src/failure.ts'
import { makeFolder, makeFolderNow } from '../../src/new-folder.ts'

const scratch = (t: { after(fn: () => void): void }): string => {
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-folder-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

test('folder: those missing above it are made, and the topmost is told', async (t) => {
  const dir = scratch(t)
  assert.equal(await makeFolder(join(dir, 'a', 'b', 'c')), join(dir, 'a'))
  assert.equal(await makeFolder(join(dir, 'a', 'b', 'd')), join(dir, 'a', 'b', 'd'))
  assert.equal(await makeFolder(join(dir, 'a', 'b', 'd')), undefined)
  makeFolderNow(join(dir, 'x', 'y'))
  makeFolderNow(join(dir, 'x', 'y'))
  for (const path of ['a/b/c', 'a/b/d', 'x/y']) assert.ok(statSync(join(dir, path)).isDirectory())
})

test('folder: a link to a folder is one; a file in its place is not', async (t) => {
  const dir = scratch(t)
  symlinkSync(dir, join(dir, 'link'))
  assert.equal(await makeFolder(join(dir, 'link')), undefined)
  writeFileSync(join(dir, 'file'), 'mine')
  for (const path of [join(dir, 'file'), join(dir, 'file', 'below')]) {
    await assert.rejects(makeFolder(path), (error) => hasCode(error, 'EEXIST', 'ENOTDIR'))
    assert.throws(
      () => makeFolderNow(path),
      (error) => hasCode(error, 'EEXIST', 'ENOTDIR'),
    )
  }
})

test('folder: many at once make it once each', async (t) => {
  const path = join(scratch(t), 'a', 'b', 'c')
  const told = await Promise.all(Array.from({ length: 20 }, () => makeFolder(path)))
  assert.ok(statSync(path).isDirectory())
  assert.ok(told.some((first) => first !== undefined))
})

test('folder: a file system that takes none is an error, not a wait', async (t) => {
  // Node's own recursive mkdir is still trying there.
  if (!existsSync('/proc/self')) return t.skip('needs /proc: not found')
  await assert.rejects(makeFolder('/proc/none/below'), (error) => hasCode(error, 'ENOENT'))
  assert.throws(
    () => makeFolderNow('/proc/none'),
    (error) => hasCode(error, 'ENOENT'),
  )
})
