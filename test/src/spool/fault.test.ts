import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { spoolFault } from '../../../src/spool/fault.ts'
import { needs } from '../../support/needs.ts'
import { folder } from './folder.ts'

test('fault: a spool that takes files has none, and keeps nothing of the look', (t) => {
  const dir = folder(t)
  assert.equal(spoolFault(dir), undefined)
  assert.deepEqual(readdirSync(dir), [])
})

test('fault: a folder that has gone, or made way for a file, is told with the way out', (t) => {
  const dir = folder(t)
  const gone = spoolFault(`${dir}/spool`)
  assert.deepEqual([gone?.kind, /has gone. path=/.test(gone?.message ?? '')], ['invalid', true])
  assert.match(gone?.remedy ?? '', /mounted/)
  rmSync(dir, { recursive: true })
  writeFileSync(dir, '')
  assert.match(spoolFault(dir)?.message ?? '', /takes no files.*ENOTDIR/)
})

test('fault: a read-only disk is one, a full one is not', (t) => {
  const unshare = needs(t, 'unshare')
  if (!unshare) return
  const program = `
    const { spoolFault } = await import(process.argv[1])
    const { execFileSync } = await import('node:child_process')
    const { writeFileSync } = await import('node:fs')
    const dir = process.argv[2]
    try { writeFileSync(dir + '/other', new Uint8Array(2 << 20)) } catch {}
    const full = spoolFault(dir)
    execFileSync('mount', ['-o', 'remount,ro', dir])
    console.log(JSON.stringify([full === undefined, spoolFault(dir)?.message]))`
  const script = 'mount -t tmpfs -o size=1m tmpfs "$3" && exec "$0" -e "$1" "$2" "$3"'
  const module = new URL('../../../src/spool/fault.js', import.meta.url).href
  const dir = folder(t)
  const run = spawnSync(unshare, [
    '-rm',
    'sh',
    '-c',
    script,
    process.execPath,
    program,
    module,
    dir,
  ])
  if (run.status !== 0)
    return t.skip(`no small disk can be mounted here: ${run.stderr ?? run.error}`)
  const [isFullFine, message] = JSON.parse(String(run.stdout))
  assert.ok(isFullFine)
  assert.match(message, /takes no files.*EROFS/)
})
