import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completions, runLine } from '../../../actors/console/command.ts'
import { eta, perSecond } from '../../../actors/console/numbers.ts'
import { statusText } from '../../../actors/console/text.ts'
import type { ActorStatus, Killed, RootControl, RunStatus } from '../../../protocol/console.ts'
import type { TrainerStatus } from '../../../protocol/trainer.ts'
import { importerStatus, ledgerStatus, runStatus, trainingStatus } from '../../support/statuses.ts'

const member = (id: string, of: Partial<ActorStatus> = {}): ActorStatus => ({
  id,
  state: 'running',
  since: 0,
  restarts: 0,
  lastCause: null,
  work: '',
  busy: null,
  heartbeatAgeMs: 10,
  pid: null,
  children: [],
  ...of,
})

const tree = member('root', {
  children: [
    member('storage', {
      children: [
        member('ledger', { work: 'serving' }),
        member('uploader/0', { restarts: 2, lastCause: 'killed', work: '3 of 50 lanes' }),
      ],
    }),
    member('extraction', {
      children: [
        member('extractor/0', { busy: { work: 'b000017: 8 rows', deadlineMs: 60_000 }, work: 'x' }),
      ],
    }),
  ],
})

/** A root that does what it is told, and tells of it. */
const thread: Killed = { pid: null, waitedFor: null }

function rootOf(
  status: RunStatus = runStatus({ actors: tree }),
  { killed = thread }: { readonly killed?: Killed | null } = {},
) {
  const told: string[] = []
  let state = status.state
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
    kill: async (actor) => {
      told.push(`kill ${actor}`)
      return killed
    },
    setMaxParallel: async (requests) => void told.push(`set ${requests}`),
    checkpoint: async () => {
      told.push('checkpoint')
      return '00000040-writer'
    },
    stop: () => void told.push('stop'),
  }
  return { root, told }
}

test('console: each command reaches the root', async () => {
  const { root, told } = rootOf()
  for (const line of ['pause', '  continue ', 'kill extractor/0', 'stop']) {
    assert.notEqual(await runLine(root, line), '')
  }
  assert.deepEqual(told, ['pause', 'continue', 'kill extractor/0', 'stop'])
  assert.equal(await runLine(root, '   '), '')
  assert.match(await runLine(root, 'help'), /kill ACTOR +end an actor/)
  assert.match(await runLine(root, 'help'), /upload.maxParallel N .*until the process ends$/m)
})

test('console: a command that is none is answered by the nearest there is', async () => {
  const { root, told } = rootOf()
  await assert.rejects(runLine(root, 'puase'), {
    kind: 'invalid',
    message: /puase. Nearest: pause/,
  })
  await assert.rejects(runLine(root, 'constructor'), { kind: 'invalid' })
  assert.deepEqual(told, [])
})

test('console: kill says what it ended, and what it waited for', async () => {
  const again = 'its supervisor starts it again.'
  const cases: readonly [Killed | null, string][] = [
    [thread, `extractor/0 was ended; ${again}`],
    [
      { pid: null, waitedFor: 'b1: 4 rows' },
      `extractor/0 was ended once it was outside native code (b1: 4 rows); ${again}`,
    ],
    [{ pid: 77, waitedFor: null }, `extractor/0, process 77, was ended; ${again}`],
    [null, 'extractor/0 is not up: there was nothing to end.'],
  ]
  for (const [killed, said] of cases) {
    const { root } = rootOf(undefined, { killed })
    assert.equal(await runLine(root, 'kill extractor/0'), said)
  }
})

test('console: kill names the nearest actor, or all of them, and never a supervisor', async () => {
  const { root, told } = rootOf()
  await assert.rejects(runLine(root, 'kill extractor/1'), { message: /Nearest: extractor\/0/ })
  await assert.rejects(runLine(root, 'kill'), { message: /Known: ledger, uploader\/0, extractor/ })
  await assert.rejects(runLine(root, 'kill storage'), { kind: 'invalid' })
  assert.deepEqual(told, [])
})

test('console: set takes the one key there is and a whole number in its range', async () => {
  const { root, told } = rootOf()
  assert.match(await runLine(root, 'set upload.maxParallel 200'), /At most 200 .* stays as it is/)
  assert.deepEqual(told, ['set 200'])
  for (const value of ['', '0', '-3', '2.5', '1e2', '10001', 'many']) {
    const message = /want=1 to 10000/
    await assert.rejects(runLine(root, `set upload.maxParallel ${value}`), { message })
  }
  const message = /Known: upload.maxParallel/
  for (const line of ['set', 'set upload.threads 4'])
    await assert.rejects(runLine(root, line), { message })
  assert.deepEqual(told, ['set 200'])
})

test('console: a pause that took no hold is not said to have', async () => {
  const { root } = rootOf(runStatus({ state: 'replaying' }))
  await assert.rejects(runLine(root, 'pause'), { kind: 'invalid', message: /state=replaying/ })
})

test('console: a line that was begun is completed, actors after kill', () => {
  const { root } = rootOf()
  assert.deepEqual(completions(root, 'st'), ['status', 'stop'])
  assert.deepEqual(completions(root, 'kill upl'), ['kill uploader/0'])
  assert.deepEqual(completions(root, 'kill uploader/0 '), [])
  assert.deepEqual(completions(root, 'pause x'), [])
  assert.deepEqual(completions(root, 'set up'), ['set upload.maxParallel '])
})

test('status text: rows, store, spool, speed, and the tree with its restarts', async () => {
  const { root } = rootOf()
  const lines = (await runLine(root, 'status')).split('\n')
  assert.equal(lines[0], 'running: run run-1, pid 42')
  assert.ok(lines.some((line) => /^rows 600 of 1,000 examined: 200 were there/.test(line)))
  assert.ok(lines.some((line) => /skipped: 3 empty, 1 too long$/.test(line)))
  assert.ok(lines.some((line) => /^store 400 committed, 20 stored and not yet/.test(line)))
  assert.ok(
    lines.some((line) => /30 of 100 permits for requests given out \(64 at the peak\)$/.test(line)),
  )
  assert.ok(lines.some((line) => /^ {4}uploader\/0 .*restarts 2, last: killed, 3 of/.test(line)))
  assert.ok(lines.some((line) => /extractor\/0 .*, b000017: 8 rows$/.test(line)))
})

test('status text: an import speaks of files, a run of rows, and neither of the other', () => {
  const text = statusText(runStatus({ source: importerStatus() }), 0)
  assert.match(
    text,
    /^files 304 of 400 examined: 50 were there, 247 imported, 4 in hand, left alone: 1 it cannot /m,
  )
  assert.match(text, /tokens\/s imported;/)
  assert.doesNotMatch(text, /extract|batch|\d rows/)
  assert.doesNotMatch(statusText(runStatus(), 0), /import|^files/m)
})

test('status text: each failed sample is named, and a full spool says why', () => {
  const ledger = ledgerStatus({
    failed: [{ hash: 'ab', reason: 'access denied' }],
    spool: { files: 1, bytes: 1e9, full: 'spool.maxBytes is reached' },
  })
  const text = statusText(runStatus({ ledger, run: '' }), 0)
  assert.match(text, /^failed ab: access denied$/m)
  assert.match(text, /; full: spool.maxBytes is reached;/)
  assert.match(text, /run \(not known yet\)/)
})

test('status text: while the store is busy it tells the cap in force, and the whole one', () => {
  const permits = { open: 40, max: 99, inForce: 49, peak: 99 }
  const text = statusText(runStatus({ ledger: ledgerStatus({ permits }) }), 0)
  assert.match(
    text,
    /40 of 49 permits for requests given out \(99 at the peak; the store is busy: adapting/,
  )
  assert.match(text, /, up to 99 once it answers\)/)
})

test('status text: of a training, how far it is, what it is worth, and what is saved', () => {
  const text = statusText(runStatus({ source: null, training: trainingStatus() }), 120_000)
  for (const line of [
    /^training training-1: computing, step 50 of 200, epoch 2 of 6, 1,200 samples, 30,000/m,
    /, 1,235 tokens\/s on cpu, 01:13 left, 2 % outside onnxruntime, transfers 0 %$/m,
    /^ {2}loss 1\.500, 62\.5 % right, τ 2\.35, lr 0\.000600, gradient 0\.500$/m,
    /^ {2}right by slot: 75 % 50 %$/m,
    /^ {2}held out at step 40, 512 samples: loss 1\.500/m,
    /^checkpoints 00000040-writer, 2\.5 MB, 01:00 ago$/m,
  ]) {
    assert.match(text, line)
  }
  const elsewhere = (trainer: Partial<TrainerStatus>) =>
    statusText(runStatus({ training: trainingStatus({ trainer }) }), 0)
  const batches = { done: 3, of: 8 }
  assert.match(elsewhere({ batches }), /computing, step 50 of 200, batches 3 of 8, epoch 2 of 6/)
  assert.match(elsewhere({ transferShare: 0.4 }), /2 % outside onnxruntime, transfers 40 %$/m)
  assert.match(elsewhere({ transferShare: null }), /onnxruntime, transfers not told apart$/m)
  assert.doesNotMatch(elsewhere({ outsideShare: null }), /onnxruntime|transfers/)
  const trouble = trainingStatus({ checkpoints: { last: null, lastError: 'access denied' } })
  assert.match(
    statusText(runStatus({ training: trouble }), 0),
    /the last try failed: access denied$/m,
  )
})

test('console: a checkpoint on demand tells its name', async () => {
  const { root, told } = rootOf()
  assert.equal(await runLine(root, 'checkpoint'), 'Saved: checkpoints/00000040-writer')
  assert.deepEqual(told, ['checkpoint'])
})

test('status text: before an actor has answered, what is known is told', () => {
  const text = statusText(runStatus({ source: null, ledger: null }), 0)
  assert.equal(text.split('\n').length, 3)
})

test('status text: times and speeds read well at any size', () => {
  assert.deepEqual([59, 61, 3600, 90_061].map(eta), ['00:59', '01:01', '1:00:00', '25:01:01'])
  assert.deepEqual([null, Number.NaN, Number.POSITIVE_INFINITY].map(eta), ['?', '?', '?'])
  assert.deepEqual([0, 1.25, 99.94, 12_345.6].map(perSecond), ['0.0', '1.3', '99.9', '12,346'])
})
