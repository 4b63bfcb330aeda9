import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { tryDevice } from '../../../supervisors/run/try-device.ts'

const dir = mkdtempSync(join(tmpdir(), 'draftsmith-device-'))
// Where an abort may leave its core.
process.chdir(dir)
after(() => rmSync(dir, { recursive: true }))

/** A driver, as far as it is met here. */
const driver = (does: string): URL => {
  const path = join(dir, 'driver.mjs')
  writeFileSync(path, does)
  return pathToFileURL(path)
}

test('device: what it is refused for comes whole out of the process that tried it', async () => {
  await tryDevice('cpu', '/nowhere')
  await assert.rejects(tryDevice('cuda:0', dir), {
    name: 'Failure',
    kind: 'invalid',
    message: 'device cannot be used. device=cuda:0',
    remedy: /install:cuda/,
  })
  await assert.rejects(tryDevice('cuda:0', '/dev/null/nowhere'), { message: /ENOTDIR|nowhere/ })
})

test('device: a driver that aborts ends its own process alone, and is named', async () => {
  await assert.rejects(tryDevice('cuda:0', dir, driver('process.abort()')), {
    kind: 'invalid',
    message: 'the device ended the process that tried it. device=cuda:0',
    cause: new Error('ended by SIGABRT'),
  })
  await assert.rejects(tryDevice('cuda:0', dir, driver('process.exit(3)')), {
    cause: new Error('exit code 3'),
  })
  await tryDevice('cuda:0', dir, driver('process.send({ error: null }, () => process.abort())'))
})
