import assert from 'node:assert/strict'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { syncFile, syncFolder, syncFolderNow } from '../../src/lasting.ts'
import { scratch } from '../support/target-run.ts'

test('lasting: folders and files are synced; what is not there is told', async (t) => {
  const dir = await scratch(t)
  const file = join(dir, 'file')
  await writeFile(file, 'bytes')
  await chmod(file, 0o400)
  await syncFile(file)
  await syncFolder(dir)
  syncFolderNow(dir)
  const gone = join(dir, 'gone')
  await assert.rejects(syncFile(gone), { code: 'ENOENT' })
  await assert.rejects(syncFolder(gone), { code: 'ENOENT' })
  assert.throws(() => syncFolderNow(gone), { code: 'ENOENT' })
})
