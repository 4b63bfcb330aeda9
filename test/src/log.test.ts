import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Failure, isFailure } from '../../src/failure.ts'
import { describeError, openLog } from '../../src/log.ts'
import { plant, puppet, startOf, supervisor } from '../support/trees.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'draftsmith-log-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

const parse = (lines: string) =>
  lines
    .trimEnd()
    .split('\n')
    .map((line) => Object(JSON.parse(line)))

for (const isolation of ['thread', 'process']) {
  for (const way of ['exit', 'throw', 'kill', 'abort']) {
    const actor = `an actor (${isolation}) that ends by ${way}`
    test(`log: ${actor} has written all of its 2001 lines`, async (t) => {
      const dir = folder(t)
      const file = join(dir, 'logs', 'actors.log')
      const script = fileURLToPath(new URL('../support/last-words.js', import.meta.url))
      const child = spawn(process.execPath, [script, isolation, way, file], {
        // Where an abort may leave its core.
        cwd: dir,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')])
      for (const written of [readFileSync(file, 'utf8'), stderr]) {
        const lines = parse(written).filter(({ i }) => i !== undefined)
        assert.equal(lines.length, 2_001)
        assert.deepEqual([lines[2_000].i, lines[2_000].level], [2_000, 'fatal'])
        assert.equal(lines[0].actor, 'talker')
      }
    })
  }
}

test('log: a Failure is written with its kind, its remedy and its causes', (t) => {
  const file = join(folder(t), 'log')
  const log = openLog({ actor: 'ledger', level: 'info', file, stderr: 'none' })
  const cause = new Failure('unavailable', 'no answer', { cause: new Error('ECONNRESET') })
  log.error(
    { err: new Failure('corrupt', 'sample differs', { remedy: 'Delete it.', cause }) },
    'no',
  )
  const [line] = parse(readFileSync(file, 'utf8'))
  assert.equal(line.msg, 'no')
  const { causes, ...own } = line.err
  assert.deepEqual(own, {
    type: 'Failure',
    kind: 'corrupt',
    message: 'sample differs',
    remedy: 'Delete it.',
  })
  assert.deepEqual([causes[0].kind, causes[1].message], ['unavailable', 'ECONNRESET'])
})

test('log: a bug is written with its stack, and an endless chain of causes ends', () => {
  const bug = new TypeError('x is undefined')
  bug.cause = bug
  const described = describeError(bug)
  assert.match(described.stack ?? '', /log\.test/)
  assert.equal(described.causes?.length, 16)
})

test('log: a BigInt is written digit by digit', (t) => {
  const file = join(folder(t), 'log')
  const log = openLog({ actor: 'reader', level: 'info', file, stderr: 'none' })
  log.info({ id: 2n ** 53n + 1n, nested: { ids: [1n] } }, 'a row')
  assert.match(readFileSync(file, 'utf8'), /"id":9007199254740993,"nested":\{"ids":\[1\]\}/)
})

test('log: lines below the level are not written, and files are appended to', (t) => {
  const file = join(folder(t), 'log')
  for (const actor of ['one', 'two']) {
    const log = openLog({ actor, level: 'warn', file, stderr: 'none' })
    log.info('too quiet')
    log.warn('loud enough')
  }
  const lines = parse(readFileSync(file, 'utf8'))
  assert.deepEqual(
    lines.map(({ actor }) => actor),
    ['one', 'two'],
  )
})

test('log: a file that cannot be made is refused, with its path', (t) => {
  const inTheWay = join(folder(t), 'file')
  writeFileSync(inTheWay, '')
  const file = join(inTheWay, 'log')
  assert.throws(
    () => openLog({ actor: 'main', level: 'info', file, stderr: 'none' }),
    (error) => isFailure(error, 'invalid') && error.message.includes(file),
  )
})

test('log: every restart has a line with child, cause and count', async (t) => {
  const file = join(folder(t), 'log')
  const failing = puppet('puppet', { input: { failingStarts: 2 } })
  const planted = plant(t, supervisor('root', [failing]), { level: 'info', file, stderr: 'none' })
  await planted.tree.start()
  await planted.until(startOf('puppet', 3))
  const lines = parse(readFileSync(file, 'utf8'))
  const restarts = lines.filter(({ msg }) => msg === 'restarting')
  assert.deepEqual(
    restarts.map(({ child, cause, count }) => [child, cause, count]),
    [
      ['puppet', 'start', 1],
      ['puppet', 'start', 2],
    ],
  )
  assert.equal(restarts[0].err.remedy, 'Give a path that is there.')
  const lastWords = lines.filter(({ actor, level }) => actor === 'puppet' && level === 'fatal')
  assert.equal(lastWords.length, 2)
})
