import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Job } from '../../../supervisors/drills/rig/job.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { draftsmithMain } from '../../../supervisors/drills/rig/program.ts'
import { ask, statusWhen } from '../../../supervisors/drills/rig/socket.ts'
import { layOutJob } from '../../support/crash/job.ts'

/** The console of a run, as its users have it: over the socket, and by `attach`. */

const slow = { at: 'extractor.computed', ms: 30 }

async function open(t: TestContext) {
  const job = await layOutJob(t)
  const run = start(t, ['run', job.config], { ...job, crash: { slow } })
  await statusWhen(run, job, ({ ledger, state }) => state === 'running' && ledger !== null)
  return { job, run }
}

interface LogLine {
  readonly actor: string
  readonly msg: string
  readonly entries?: number
  readonly note?: string
  readonly order?: string
  readonly by?: string
}

const jsonLines = (path: string): unknown[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const logOf = ({ work }: Job): LogLine[] =>
  jsonLines(join(work, 'logs', 'draftsmith.jsonl')) as LogLine[]

/** What `attach` prints for these lines, where it is given no terminal. */
async function attached(job: Job, lines: readonly string[]) {
  const child = spawn(process.execPath, [draftsmithMain, 'attach', '--work', job.work])
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  }
  child.stdin.end(`${lines.join('\n')}\n`)
  const [code] = await once(child, 'close')
  return { code, ...said }
}

test('set: what was changed holds for an actor that starts again', async (t) => {
  const { job, run } = await open(t)
  assert.match(await ask(job, 'set log.level debug'), /^log.level is debug from now on/)
  assert.match(await ask(job, 'set commit.every 3'), /^commit.every is 3 from now on/)
  assert.match(await ask(job, 'set commit.seconds 0'), /^error: .*want=more than 0, to 86400/)
  assert.match(await ask(job, 'kill ledger'), /^ledger was ended/)
  const before = logOf(job).length
  // Debug lines of the ledger that came after: of both settings, its second start was told.
  await run.until('commits of the second ledger', async () => {
    const since = logOf(job).slice(before)
    const started = since.findIndex(({ actor, msg }) => actor === 'ledger' && /replayed/.test(msg))
    const commits = since.slice(started).filter(({ msg }) => msg === 'committed')
    if (started < 0 || commits.length < 3) return undefined
    assert.ok(
      commits.every(({ entries = 0 }) => entries <= 3),
      JSON.stringify(commits),
    )
    return commits
  })
  assert.match(await ask(job, 'set'), /^commit.every +3 .*, configured 10\)$/m)

  // Lower than any batch: nothing is granted, nobody dies of it, and it goes on when raised.
  assert.match(await ask(job, 'set spool.maxBytes 1kB'), /1.0 kB from now on/)
  await statusWhen(run, job, ({ ledger }) => /, and a batch has/.test(ledger?.spool.full ?? ''))
  await ask(job, 'set spool.maxBytes 10MB')
  const { code, stderr } = await run.ended()
  assert.equal(code, 0, stderr)
})

test('restart, drain, explain, note: each does what it says, and all is audited', async (t) => {
  const { job, run } = await open(t)
  assert.match(await ask(job, 'restart reader'), /^reader finishes .*\nreader has ended by order/)
  await statusWhen(run, job, ({ actors }) =>
    /"id":"reader","state":"running"/.test(JSON.stringify(actors)),
  )
  assert.match(await ask(job, 'explain zzz'), /^error: neither row nor hash/)
  assert.equal(await ask(job, 'note  begun again'), 'Noted.')
  assert.match(await ask(job, 'puase'), /^error: no such command: puase. Nearest: pause/)

  const said = await attached(job, [
    '',
    'drain',
    ' ',
    '',
    'tree',
    'explain 0',
    'log reader',
    'kill nobody',
    '',
    'set x 1',
  ])
  assert.equal(said.code, 2, said.stderr)
  assert.match(said.stdout, /^Nothing new is begun.*\nDrained: nothing is under way\./)
  assert.match(said.stdout, /^ {4}ledger +running .* 0 to send +0 sending, 0 to commit/m)
  assert.match(said.stdout, /^ {4}reader +running .* 1 .*\n(?:.*\n)? {8}last: ordered: restarted$/m)
  assert.match(said.stdout, /^row 0 [0-9a-f]{32}: (?:stored|waiting)$/m)
  assert.match(said.stdout, /"actor":"reader".*manifest|"child":"reader","generation":2/)
  assert.match(said.stderr, /no such actor: nobody. .*\n.*x is no setting that may change now/)
  const drained = await statusWhen(run, job, () => true)
  assert.equal(drained.state, 'paused')
  assert.deepEqual([drained.ledger?.toSend, drained.ledger?.uncommitted], [0, 0])

  assert.match(await ask(job, 'continue'), /Going on/)
  assert.match(await ask(job, 'stop'), /Stopping/)
  const { code, stderr } = await run.ended()
  assert.equal(code, 5, stderr)
  const orders = logOf(job).filter(({ msg }) => msg === 'ordered')
  assert.deepEqual(
    orders.map(({ order }) => order),
    ['restart reader', 'note  begun again', 'drain', 'kill nobody', 'set x 1', 'continue', 'stop'],
  )
  assert.match(orders[2].by ?? '', / by attach, process \d+/)
  assert.ok(logOf(job).some(({ note }) => note === 'begun again'))
  const audit = jsonLines(join(job.work, 'audit.jsonl')) as { line: string; outcome: string }[]
  const outcomes = audit
    .filter(({ line }) => !line.startsWith('status'))
    .map(({ line, outcome }) => `${line}: ${outcome.split(/[.:]/)[0]}`)
  assert.deepEqual(outcomes, [
    'restart reader: begun',
    'restart reader: done',
    'explain zzz: begun',
    'explain zzz: refused',
    'note  begun again: done',
    'puase: refused',
    'drain: begun',
    'drain: done',
    'tree: done',
    'explain 0: begun',
    'explain 0: done',
    'log reader: begun',
    'log reader: done',
    'kill nobody: begun',
    'kill nobody: refused',
    'set x 1: refused',
    'continue: done',
    'stop: done',
  ])
  assert.equal(statSync(join(job.work, 'audit.jsonl')).mode & 0o777, 0o600)
})
