import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const passing = `
import { test } from 'node:test'
import { needs, needsShared } from './support/needs.js'
test('finds a tool', (t) => { if (needs(t, 'node') === undefined) throw new Error('not found') })
test('lacks a tool', (t) => { needs(t, 'no-such-tool') })
test('lacks data', (t) => { needsShared(t, 'no/such/data') })
test('outer', async (t) => { await t.test('inner', (inner) => inner.skip('only on Fridays')) })
`
const failing = `
import { test } from 'node:test'
test('breaks', () => { throw new Error('broken') })
`
const lying = `
import { test } from 'node:test'
test('skips in vain', (t) => { t.skip('needs node: not found') })
`
const sharedLie = `
import { test } from 'node:test'
test('reads nothing', (t) => { t.skip('needs ../shared/here: not found') })
`
const silent = `
import { test } from 'node:test'
test('says nothing', (t) => { t.skip() })
`

/** What the compiled runner prints in a project of its own, which has the given compiled tests. */
function runProject(
  t: TestContext,
  tests: Record<string, string>,
  ci: boolean,
  words: string[] = [],
) {
  const above = mkdtempSync(join(tmpdir(), 'draftsmith-runner-'))
  t.after(() => rmSync(above, { recursive: true, force: true }))
  const root = join(above, 'project')
  const support = join(root, 'build', 'test', 'support')
  mkdirSync(support, { recursive: true })
  mkdirSync(join(root, 'test'))
  mkdirSync(join(above, 'shared', 'here'), { recursive: true })
  for (const name of ['run-tests.js', 'needs.js', 'golden.js', 'swiftshader.js']) {
    copyFileSync(join(dirname(fileURLToPath(import.meta.url)), name), join(support, name))
  }
  writeFileSync(join(root, 'tsconfig.json'), '{}')
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }')
  for (const [name, source] of Object.entries(tests)) {
    writeFileSync(join(root, 'test', `${name}.test.ts`), '')
    writeFileSync(join(root, 'build', 'test', `${name}.test.js`), source)
  }
  writeFileSync(join(root, 'build', 'test', 'stale.test.js'), 'throw new Error("stale")')
  // Node's runner refuses to run inside one of its own files, which it tells by NODE_TEST_CONTEXT.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(support, 'run-tests.js'), ...words],
    { cwd: root, encoding: 'utf8', env: { ...env, CI: ci ? 'true' : 'false' } },
  )
  return { status, stdout, stderr, lines: stdout.trimEnd().split('\n') }
}

test('runner: skips are listed with their reasons, then the runner has the last word', (t) => {
  const { status, stdout, lines } = runProject(t, { passing }, true)
  assert.equal(status, 0, stdout)
  const summary = lines.findIndex((line) => /^\S+ tests 5$/.test(line))
  assert.deepEqual(
    lines.slice(summary - 5, summary - 1).map((line) => line.trim()),
    [
      'skipped:',
      'lacks a tool: needs no-such-tool: not found',
      'lacks data: needs ../shared/no/such/data: not found',
      'inner: only on Fridays',
    ],
  )
  assert.match(lines.at(-1) ?? '', /duration_ms/)
  assert.ok(lines.some((line) => /^\S+ skipped 3$/.test(line)))
})

test('runner: a failing test fails the run, and the counts still come last', (t) => {
  const { status, stdout, lines } = runProject(t, { passing, failing }, false)
  assert.equal(status, 1)
  assert.match(stdout, /failing tests:[\s\S]*breaks/)
  assert.ok(lines.slice(-8).some((line) => /^\S+ fail 1$/.test(line)))
})

test('runner: in CI a skip that need not have been fails the run, elsewhere it does not', (t) => {
  for (const [name, source, why] of [
    ['lying', lying, /fails here, where CI=true: it is there: .*node/],
    ['shared', sharedLie, /fails here, where CI=true: it is there: .*here/],
    ['silent', silent, /fails here, where CI=true: it gives no reason/],
  ] as const) {
    const strict = runProject(t, { [name]: source }, true)
    assert.equal(strict.status, 1, name)
    assert.match(strict.stdout, why)
    assert.equal(runProject(t, { [name]: source }, false).status, 0, name)
  }
})

test('runner: words choose files, and a word that matches none is an error', (t) => {
  const chosen = runProject(t, { passing, failing }, false, ['pass'])
  assert.equal(chosen.status, 0, chosen.stdout)
  const none = runProject(t, { passing }, false, ['nothing-like-it'])
  assert.notEqual(none.status, 0)
  assert.match(none.stderr, /no test file matches\. words=nothing-like-it/)
})

test('runner: a compiled test whose source is gone does not run', (t) => {
  const { status, stdout } = runProject(t, { passing }, false)
  assert.equal(status, 0)
  assert.doesNotMatch(stdout, /stale/)
})
