import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Desk } from '../../../actors/console/desk.ts'
import type { ConsoleAnswer } from '../../../protocol/console-lines.ts'
import { deferred } from '../../../protocol/deferred.ts'
import { liveKeysOf, settingsOfConfig } from '../../../src/config/live-settings.ts'
import { parseConfig } from '../../../src/config/load.ts'
import { Failure } from '../../../src/failure.ts'
import { FrontDesk, type Order } from '../../../supervisors/run/front-desk.ts'
import { runStatus, smallTree } from '../../support/statuses.ts'
import { scratch } from '../../support/target-run.ts'

const { config } = parseConfig('store: file:///s\ndataset: { path: d }\ntarget: { path: t }', {
  name: 'test',
  base: '/',
})

const unasked = () => assert.fail('nobody expected this to be asked')
const root: Desk['root'] = {
  status: () => runStatus({ actors: smallTree }),
  pause: unasked,
  continue: unasked,
  kill: unasked,
  restart: unasked,
  settings: unasked,
  set: unasked,
  checkpoint: unasked,
  drain: unasked,
  stop: unasked,
  note: unasked,
}

async function open(t: TestContext, control: Partial<Desk['root']>) {
  const work = await scratch(t)
  const ordered: Order[] = []
  const desk: Desk = { root: { ...root, ...control }, explain: unasked, follow: unasked }
  const front = new FrontDesk(desk, work, (given) => ordered.push(given))
  const outcomes = () =>
    readFileSync(join(work, 'audit.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).outcome)
  /** Asks a line over the socket; `leave` is the interrupt that comes after it. */
  const ask = (line: string) => {
    const told: ConsoleAnswer[] = []
    const leaving = new AbortController()
    const { signal } = leaving
    const answered = front.answer(line, { says: null, signal, tell: (one) => told.push(one) })
    return { answered, told, leave: () => leaving.abort() }
  }
  return { ask, front, ordered, outcomes }
}

test('desk: a save that nobody waits for goes on, and its end is noted', async (t) => {
  const saved = deferred<string>()
  const { ask, outcomes } = await open(t, { checkpoint: () => saved.promise })
  const { answered, told, leave } = ask('checkpoint')
  leave()
  await answered
  const text = 'Not waited for any more: the save goes on. `status` tells of it.'
  assert.deepEqual(told, [{ kind: 'text', text }])
  assert.deepEqual(outcomes(), ['begun', 'not waited for'])
  saved.resolve('00000040-writer')
  await saved.promise
  await new Promise(setImmediate)
  assert.deepEqual(outcomes(), ['begun', 'not waited for', 'done'])
  assert.equal(told.length, 1)
})

test('desk: what goes on unawaited says nothing more, and fails unheard', async (t) => {
  const killed = deferred<Failure>()
  const waits = deferred<() => void>()
  const { ask, outcomes } = await open(t, {
    kill: (_, awaited) => {
      waits.resolve(() => awaited({ work: 'b1', patienceMs: 1000 }))
      return killed.promise.then((failure) => Promise.reject(failure))
    },
  })
  const { answered, told, leave } = ask('kill extractor/0')
  const say = await waits.promise
  say()
  leave()
  await answered
  say()
  killed.resolve(new Failure('unavailable', 'it is gone'))
  await new Promise(setImmediate)
  assert.deepEqual(
    told.map((one) => one.kind === 'text' && one.text.slice(0, 30)),
    ['extractor/0 is inside native c', 'Not waited for any more: it is'],
  )
  assert.deepEqual(outcomes(), ['begun', 'not waited for', 'failed: it is gone'])
})

test('desk: who leaves after the answer has waited for it', async (t) => {
  const { ask, outcomes } = await open(t, { checkpoint: async () => '00000040-writer' })
  const { answered, leave } = ask('checkpoint')
  await answered
  leave()
  await new Promise(setImmediate)
  assert.deepEqual(outcomes(), ['begun', 'done'])
})

test('desk: each order is told as it begins, with who gave it', async (t) => {
  const configured = settingsOfConfig(config)
  const { ask, front, ordered } = await open(t, {
    status: () => runStatus({ state: 'paused' }),
    pause: async () => undefined,
    settings: () => ({ keys: liveKeysOf(config), configured, inForce: configured }),
    stop: () => undefined,
  })
  const who = { user: 'ann', sudoUser: 'bob', pid: 12, command: 'attach', terminal: '/dev/pts/3' }
  const hearing = { say: unasked, follows: unasked, log: unasked, columns: 80 }
  const { signal } = new AbortController()
  await front.run(' pause ', { from: 'socket', says: who }, { ...hearing, signal })
  for (const line of ['status', 'set', 'help pause', 'stop']) await ask(line).answered
  assert.deepEqual(ordered, [
    { order: 'pause', by: 'ann (bob) by attach, process 12, /dev/pts/3' },
    { order: 'stop', by: 'somebody, over the socket' },
  ])
})
