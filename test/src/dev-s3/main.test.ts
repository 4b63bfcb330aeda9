import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/** The server as people start it, before it serves. */

const main = fileURLToPath(new URL('../../../src/dev-s3/main.js', import.meta.url))
const start = (...args: string[]) =>
  spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', input: '', timeout: 60_000 })

test('dev-s3: --help says what it takes and how it ends; a mistake says so in a line', () => {
  const help = start('--help')
  assert.deepEqual([help.status, help.stderr], [0, ''])
  for (const words of ['--port', '--bucket', '--dir', 'AWS_ACCESS_KEY_ID', 'Ctrl-D']) {
    assert.ok(help.stdout.includes(words), words)
  }
  const wrong = start('--prot', '9000')
  assert.deepEqual([wrong.status, wrong.stdout], [2, ''])
  assert.match(wrong.stderr, /^dev-s3: Unknown option '--prot'/)
  assert.doesNotMatch(wrong.stderr, /\n\s+at /)
})

test('dev-s3: its first line tells where it is and how it ends, and it ends with its input', () => {
  const { status, stderr, stdout } = start()
  assert.deepEqual([status, stderr], [0, ''])
  const told = JSON.parse(stdout)
  assert.match(told.endpoint, new RegExp(`^http://127.0.0.1:${told.port}$`))
  assert.match(told.ends, /Ctrl-D/)
})
