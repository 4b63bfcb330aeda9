import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completions, lasts, runLine } from '../../../actors/console/command.ts'
import type { Desk, Hearing } from '../../../actors/console/desk.ts'
import type { Killed, Restarted, RootControl, RunStatus } from '../../../protocol/console.ts'
import { liveKeysOf, settingsOfConfig } from '../../../src/config/live-settings.ts'
import { parseConfig } from '../../../src/config/load.ts'
import { actorStatus, runStatus, smallTree } from '../../support/statuses.ts'

const thread: Killed = { pid: null, waitedFor: null, state: 'crashed' }

const { config } = parseConfig(
  'store: file:///s\ndataset: { path: d }\ntarget: { path: t }\ntrain: {}',
  { name: 'test', base: '/' },
)

/** A root that does what it is told, and tells of it. */
function rootOf(
  status: RunStatus = runStatus({ actors: smallTree }),
  {
    killed = thread,
    restarted = { did: 'ended', state: 'crashed' },
  }: { readonly killed?: Killed | null; readonly restarted?: Restarted } = {},
) {
  const told: string[] = []
  let state = status.state
  const configured = settingsOfConfig(config)
  let inForce = configured
  const root: RootControl = {
    status: () => ({ ...status, state }),
    pause: async () => {
      told.push('pause')
      if (state === 'running') state = 'paused'
    },
    continue: async () => {
      told.push('continue')
      if (state === 'paused') state = 'running'
    },
    kill: async (actor, awaited) => {
      told.push(`kill ${actor}`)
      if (killed?.waitedFor) awaited({ work: killed.waitedFor, patienceMs: 60_000 })
      return killed
    },
    restart: async (actor) => {
      told.push(`restart ${actor}`)
      return restarted
    },
    settings: () => ({ keys: liveKeysOf(config), configured, inForce }),
    set: async (changed) => {
      told.push(`set ${JSON.stringify(changed)}`)
      inForce = { ...inForce, ...changed }
    },
    checkpoint: async () => {
      told.push('checkpoint')
      return '00000040-writer'
    },
    drain: async () => void told.push('drain'),
    stop: () => void told.push('stop'),
    note: (text) => void told.push(`note ${text}`),
  }
  const desk: Desk = {
    root,
    explain: async (asked) => `explained ${asked}`,
    follow: async (actor, line) => line(`{"actor":"${actor}"}`),
  }
  return { desk, told }
}

/** Runs a line; what was said on the way stands before the answer. */
async function run(desk: Desk, line: string): Promise<string> {
  const said: string[] = []
  const hearing: Hearing = {
    say: (text) => said.push(text),
    follows: () => said.push('follows'),
    log: (text) => said.push(text),
    columns: 100,
    signal: new AbortController().signal,
  }
  const answer = await runLine(desk, line, hearing)
  return [...said, answer].join('\n')
}

test('console: each command reaches the root', async () => {
  const { desk, told } = rootOf()
  const lines = ['pause', '  continue ', 'kill extractor/0', 'restart ledger', 'drain', 'stop']
  for (const line of [...lines, 'note all is  well']) {
    assert.notEqual(await run(desk, line), '')
  }
  assert.deepEqual(told, [...lines.map((line) => line.trim()), 'note all is well'])
  assert.equal(await run(desk, '   '), '')
  assert.match(await run(desk, 'help'), /kill ACTOR +end an actor/)
  assert.match(await run(desk, 'help set'), /until the process ends/)
  await assert.rejects(run(desk, 'help sett'), { message: /Nearest: set/ })
  assert.equal(await run(desk, 'explain 17'), 'explained 17')
  assert.equal(await run(desk, 'log supervisor'), 'follows\n{"actor":"supervisor"}\n')
  await assert.rejects(run(desk, 'log ledgr'), { message: /Nearest: ledger/ })
  assert.deepEqual(['log x', 'kill', 'status', 'none', ''].map(lasts), [
    true,
    true,
    false,
    false,
    false,
  ])
})

test('console: a command that is none is answered by the nearest there is', async () => {
  const { desk, told } = rootOf()
  await assert.rejects(run(desk, 'puase'), {
    kind: 'invalid',
    message: /puase. Nearest: pause/,
  })
  await assert.rejects(run(desk, 'constructor'), { kind: 'invalid' })
  assert.deepEqual(told, [])
})

test('console: kill says what it ended, and what it waited for', async () => {
  const again = 'its supervisor starts it again.'
  const cases: readonly [Killed | null, string][] = [
    [thread, `extractor/0 was ended; ${again}`],
    [
      { ...thread, waitedFor: 'b1: 4 rows' },
      'extractor/0 is inside native code (b1: 4 rows): it is ended once it is outside, ' +
        'waited for 60 s at most.\nextractor/0 was ended once it was outside ' +
        `native code (b1: 4 rows); ${again}`,
    ],
    [{ ...thread, pid: 77 }, `extractor/0, process 77, was ended; ${again}`],
    [{ ...thread, state: 'stopped' }, 'extractor/0 was ended; it stays stopped.'],
    [null, 'extractor/0 is not up: there was nothing to end.'],
  ]
  for (const [killed, said] of cases) {
    const { desk } = rootOf(undefined, { killed })
    assert.equal(await run(desk, 'kill extractor/0'), said)
  }
})

test('console: restart says what it did, and what it did not', async () => {
  const first = 'extractor/0 finishes what it holds, then it starts again.'
  const cases: readonly [Restarted, string][] = [
    [
      { did: 'ended', state: 'due' },
      'extractor/0 has ended by order; its supervisor starts it again.',
    ],
    [{ did: 'ended', state: 'abandoned' }, 'extractor/0 has ended by order; it stays abandoned.'],
    [{ did: 'started', state: 'running' }, 'extractor/0 was not up; it has been started.'],
    [
      { did: 'started', state: 'crashed' },
      'extractor/0 was not up; it was started, and is crashed now: see `last` in `tree`.',
    ],
    [{ did: 'nothing', state: 'draining' }, 'extractor/0 is draining: nothing was done.'],
  ]
  for (const [restarted, said] of cases) {
    const { desk } = rootOf(undefined, { restarted })
    assert.equal(await run(desk, 'restart extractor/0'), `${first}\n${said}`)
  }
  const down = actorStatus('root', { children: [actorStatus('ledger', { state: 'crashed' })] })
  const { desk } = rootOf(runStatus({ actors: down }), {
    restarted: { did: 'started', state: 'running' },
  })
  assert.equal(await run(desk, 'restart ledger'), 'ledger was not up; it has been started.')
})

test('console: kill names the nearest actor, or all of them, and never a supervisor', async () => {
  const { desk, told } = rootOf()
  await assert.rejects(run(desk, 'kill extractor/1'), { message: /Nearest: extractor\/0/ })
  await assert.rejects(run(desk, 'kill'), { message: /Known: ledger, uploader\/0, extractor/ })
  await assert.rejects(run(desk, 'kill storage'), { kind: 'invalid' })
  assert.deepEqual(told, [])
})

test('console: set takes each setting within its range, else says the range', async () => {
  const { desk, told } = rootOf()
  assert.match(await run(desk, 'set upload.maxParallel 200'), /is 200 from now on.* stays as it is/)
  assert.match(await run(desk, 'set spool.maxBytes 1.5GB'), /^spool.maxBytes is 1.5 GB from now on/)
  assert.match(await run(desk, 'set log.level debug'), /is debug from now on/)
  const done = [
    'set {"upload.maxParallel":200}',
    'set {"spool.maxBytes":1500000000}',
    'set {"log.level":"debug"}',
  ]
  assert.deepEqual(told, done)
  for (const value of ['', '0', '-3', '2.5', '1e2', '10001', 'many']) {
    const message = /want=1 to 10000/
    await assert.rejects(run(desk, `set upload.maxParallel ${value}`), { message })
  }
  const refused: readonly [string, RegExp][] = [
    ['commit.seconds 0', /want=more than 0, to 86400, found=0/],
    ['spool.maxBytes 0', /want=a size from 1B up/],
    ['spool.keepFree -1', /want=a size from 0B up/],
    ['train.checkpointMinutes never', /want=more than 0, to 525600/],
    ['log.level loud', /want=trace, debug, info/],
    ['upload.threads 4', /no setting that may change now. Known: .*commit.every/],
    ['commit.evry 4', /Nearest: commit.every/],
  ]
  for (const [line, message] of refused) {
    await assert.rejects(run(desk, `set ${line}`), { kind: 'invalid', message })
  }
  assert.deepEqual(told, done)
})

test('console: set alone shows what is in force, and what was configured', async () => {
  const { desk } = rootOf()
  await run(desk, 'set commit.every 5')
  const lines = (await run(desk, 'set')).split('\n').slice(1)
  assert.match(lines.join('\n'), /^commit.every +5 +.*, configured 1000\)$/m)
  assert.match(
    lines.join('\n'),
    /^spool.keepFree +20.0 GB +[^,]*\(a size from 0B up, such as 20GB\)$/m,
  )
})

test('console: a pause that took no hold is not said to have', async () => {
  const { desk } = rootOf(runStatus({ state: 'replaying' }))
  await assert.rejects(run(desk, 'pause'), { kind: 'invalid', message: /state=replaying/ })
})

test('console: nothing is said to go on that is at its end', async () => {
  const { desk } = rootOf(runStatus({ state: 'draining' }))
  await assert.rejects(run(desk, 'continue'), { kind: 'invalid', message: /state=draining/ })
})

test('console: a line that was begun is completed, actors after kill', () => {
  const { desk } = rootOf()
  assert.deepEqual(completions(desk, 'st'), ['status', 'stop'])
  assert.deepEqual(completions(desk, 'k'), ['kill '])
  assert.deepEqual(completions(desk, 'restart le'), ['restart ledger'])
  assert.deepEqual(completions(desk, 'help che'), ['help checkpoint'])
  assert.deepEqual(completions(desk, 'kill upl'), ['kill uploader/0'])
  assert.deepEqual(completions(desk, 'kill uploader/0 '), [])
  assert.deepEqual(completions(desk, 'pause x'), [])
  assert.deepEqual(completions(desk, 'set up'), ['set upload.maxParallel '])
})

test('console: a checkpoint on demand tells its name', async () => {
  const { desk, told } = rootOf()
  assert.equal(await run(desk, 'checkpoint'), 'Saved: checkpoints/00000040-writer')
  assert.deepEqual(told, ['checkpoint'])
})
