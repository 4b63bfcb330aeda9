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
const trying = (does: string) => {
  const path = join(dir, 'driver.mjs')
  writeFileSync(path, does)
  return { entry: pathToFileURL(path) }
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
  await assert.rejects(tryDevice('cuda:0', dir, trying('process.abort()')), {
    kind: 'invalid',
    message: 'the device ended the process that tried it. device=cuda:0',
    cause: new Error('ended by SIGABRT'),
  })
  await assert.rejects(tryDevice('cuda:0', dir, trying('process.exit(3)')), {
    cause: new Error('exit code 3'),
  })
  await tryDevice('cuda:0', dir, trying('process.send({ error: null }, () => process.abort())'))
})

test('device: nobody waits for a trial that hangs, or that nobody asks for any more', async () => {
  const hangs = trying('setInterval(() => undefined, 1000)')
  const ended = { kind: 'invalid', cause: new Error('ended by SIGKILL') }
  await assert.rejects(
    tryDevice('cuda:0', dir, { ...hangs, within: { tryMs: 1, endsMs: 60_000 } }),
    ended,
  )
  await assert.rejects(tryDevice('cuda:0', dir, { ...hangs, signal: AbortSignal.abort() }), ended)
})

test('device: a trial leaves the signals of a terminal to who asks for it', async () => {
  const trial = new URL('../../../supervisors/run/device-trial.js', import.meta.url)
  const interrupted = trying(`await import('${trial}'); process.kill(process.pid, 'SIGINT')`)
  await assert.rejects(tryDevice('cuda:0', dir, interrupted), {
    message: 'device cannot be used. device=cuda:0',
  })
})
