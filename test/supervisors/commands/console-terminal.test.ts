import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { sleep } from '../../../src/clock.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { draftsmithMain } from '../../../supervisors/drills/rig/program.ts'
import { statusWhen } from '../../../supervisors/drills/rig/socket.ts'
import { layOutJob } from '../../support/crash/job.ts'
import { needs } from '../../support/needs.ts'

/** The console on a terminal: keys in, what is drawn out. */

/** Against hangs. */
const waitMs = 60_000

interface Typed {
  /** Settles when this was drawn, after what was awaited before. */
  shows(what: RegExp): Promise<void>
  types(keys: string): void
  readonly ended: Promise<number | null>
}

/** Runs draftsmith on a terminal of 80 columns and 50 rows. */
function onTerminal(t: TestContext, args: readonly string[]): Typed | undefined {
  const script = needs(t, 'script')
  if (script === undefined) return undefined
  const command = [process.execPath, draftsmithMain, ...args].join(' ')
  const child = spawn(script, ['-qfec', `stty cols 80 rows 50; exec ${command}`, '/dev/null'], {
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, TERM: 'xterm' },
  })
  t.after(() => child.kill('SIGKILL'))
  let drawn = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    drawn += stripVTControlCharacters(text)
  })
  return {
    shows: async (what) => {
      const until = Date.now() + waitMs
      for (let found = what.exec(drawn); ; found = what.exec(drawn)) {
        if (found) {
          drawn = drawn.slice(found.index + found[0].length)
          return
        }
        if (Date.now() > until)
          assert.fail(`${what} was not drawn. The end:\n${drawn.slice(-2000)}`)
        await sleep(20)
      }
    },
    types: (keys) => void child.stdin.write(keys),
    ended: once(child, 'close').then(([code]) => code),
  }
}

test('attach: on a terminal commands are completed, drawn and followed', async (t) => {
  const job = await layOutJob(t)
  const run = start(t, ['run', job.config], {
    ...job,
    crash: { slow: { at: 'extractor.computed', ms: 100 } },
  })
  await statusWhen(run, job, ({ state }) => state === 'running')
  const terminal = onTerminal(t, ['attach', '--work', job.work])
  if (!terminal) return
  const { ended, shows, types } = terminal
  await shows(/Attached to process \d+/)
  types('\n\n')
  types('tr\t')
  await shows(/draftsmith> tree/)
  types('\n')
  await shows(/actor +state +for +restarts/)
  await shows(/ledger +running/)
  // One that comes after its line was entered is dropped.
  types('not\t\n')
  await shows(/no such command: not/)
  types('tree\n')
  await shows(/actor +state +for +restarts/)
  // As far as all that may be meant agree; then they are named.
  types('kill extr\t')
  await shows(/kill extractor\//)
  types('\t')
  await shows(/^extractor\/0 +extractor\/1/m)
  types('0\n')
  await shows(/extractor\/0 was ended/)
  types('top\n')
  await shows(/checkpoint|spool \d+ files/)
  await shows(/q ends it/)
  // Drawn again.
  await shows(/q ends it/)
  types('q')
  await shows(/draftsmith> /)
  types('log extractor/0\n')
  await shows(/Any key ends it/)
  await shows(/supervisor: died child=extractor\/0/)
  types(' ')
  await shows(/draftsmith> /)
  types('\n \n')
  types('ste\n')
  await shows(/no such command: ste. Nearest: s/)
  types('\x04')
  await shows(/The run goes on/)
  assert.equal(await ended, 0)
  const typed = ['tree', 'not', 'tree', 'kill extractor/0', 'top', 'log extractor/0', 'ste']
  const history = join(job.work, 'console', 'history')
  assert.deepEqual(
    readFileSync(history, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.trim()),
    typed,
  )
  assert.equal(statSync(history).mode & 0o777, 0o600)
  run.signal('SIGTERM')
  assert.equal((await run.ended()).code, 143)
})

test('run: on a terminal it takes commands below its log and its bars', async (t) => {
  const job = await layOutJob(t, { rows: 3000 })
  const terminal = onTerminal(t, ['run', job.config])
  if (!terminal) return
  const { ended, shows, types } = terminal
  await shows(/extract +[█░]+/)
  types('set commit.every 5\n')
  await shows(/commit.every is 5 from now on/)
  types('top\n')
  await shows(/q ends it/)
  types('\x03')
  await shows(/draftsmith> /)
  types('\x1b[A')
  await shows(/draftsmith> top/)
  types('\x15stop\n')
  await shows(/Stopping: /)
  await shows(/Stopped; the same command goes on/)
  assert.equal(await ended, 5)
  const audit = readFileSync(join(job.work, 'audit.jsonl'), 'utf8')
  assert.match(
    audit,
    /"line":"set commit.every 5","outcome":"done","answer":"commit.every is 5 .*"terminal"/,
  )
})
