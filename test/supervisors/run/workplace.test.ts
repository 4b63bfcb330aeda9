import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { deferred } from '../../../protocol/deferred.ts'
import { aborted } from '../../../src/aborted.ts'
import type { Answer } from '../../../supervisors/run/conversation.ts'
import { consoleFolder, socketPath } from '../../../supervisors/run/socket-path.ts'
import { askSupervisor, consoleOf, holdWorkplace } from '../../../supervisors/run/workplace.ts'
import { scratch } from '../../support/target-run.ts'

const echo: Answer = async (line, { tell }) => tell({ kind: 'text', text: line })
const told = (text: string) => ({ text })

/** For those that are to be refused. */
const hasty = { askMs: 300, dyingMs: 100 }

async function hold(t: TestContext, work: string, answer = echo) {
  const held = await holdWorkplace(work, answer)
  t.after(() => held.release())
  return held
}

/** Another process that holds the folder; `busy`: its thread never comes back. */
async function holderOf(work: string, then: 'idle' | 'busy'): Promise<ChildProcess> {
  const entry = new URL('../../../supervisors/run/workplace.js', import.meta.url).href
  const program = `
    const { holdWorkplace } = await import(${JSON.stringify(entry)})
    await holdWorkplace(${JSON.stringify(work)}, async () => undefined)
    process.stdout.write('holds')
    if (${then === 'busy'}) setTimeout(() => { for (;;); }, 10)
    else setInterval(() => undefined, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout!, 'data')
  return child
}

test('workplace: who asks a folder is answered by its holder; only its owner may', async (t) => {
  const work = await scratch(t)
  await hold(t, work)
  assert.deepEqual(await askSupervisor(work, 'status'), told('status'))
  assert.equal(lstatSync(socketPath(work)).mode & 0o777, 0o600)
  assert.equal(lstatSync(dirname(socketPath(work))).mode & 0o777, 0o700)
})

test('workplace: what an answer fails with reaches the asker; the next is answered', async (t) => {
  const work = await scratch(t)
  await hold(t, work, async (line, caller) => {
    if (line === 'bad') throw new Error('no such command')
    await echo(line, caller)
  })
  const bad = { text: '', error: 'no such command', remedy: null }
  assert.deepEqual(await askSupervisor(work, 'bad'), bad)
  assert.deepEqual(await askSupervisor(work, 'good'), told('good'))
})

test('workplace: a second is refused while the first lives, and told its pid', async (t) => {
  const work = await scratch(t)
  await hold(t, work)
  await assert.rejects(holdWorkplace(work, echo, hasty), {
    kind: 'superseded',
    message: new RegExp(`work=${work}, pid=${process.pid}$`),
  })
  assert.deepEqual(await askSupervisor(work, 'still'), told('still'))
})

test('workplace: one whose thread is busy lives too, and is not taken over', async (t) => {
  const work = await scratch(t)
  const holder = await holderOf(work, 'busy')
  t.after(() => holder.kill('SIGKILL'))
  const before = lstatSync(socketPath(work)).ino
  await assert.rejects(holdWorkplace(work, echo, hasty), {
    kind: 'superseded',
    message: /pid=unknown$/,
  })
  assert.equal(lstatSync(socketPath(work)).ino, before)
})

test('workplace: the socket of one that was killed is taken over', async (t) => {
  const work = await scratch(t)
  const holder = await holderOf(work, 'idle')
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  assert.ok(existsSync(socketPath(work)))
  await assert.rejects(askSupervisor(work, 'status'), { kind: 'unavailable' })
  await hold(t, work)
  assert.deepEqual(await askSupervisor(work, 'status'), told('status'))
})

test('workplace: released, it is free for the next, and nobody answers', async (t) => {
  const work = await scratch(t)
  const first = await hold(t, work)
  first.release()
  await assert.rejects(askSupervisor(work, 'status'), { kind: 'unavailable', message: /work=/ })
  await hold(t, work)
})

test('workplace: half an answer of one that dies is no answer', async (t) => {
  const work = await scratch(t)
  const server = createServer((socket) => socket.end('{"v":1,"kind":"wh'))
  mkdirSync(consoleFolder(work))
  server.listen(socketPath(work))
  await once(server, 'listening')
  t.after(() => server.close())
  await assert.rejects(askSupervisor(work, 'status'), { kind: 'unavailable' })
})

test('workplace: a long path takes a socket too, whatever temporary folder is used', async (t) => {
  const work = join(await scratch(t), 'deep'.repeat(20), 'deeper'.repeat(10))
  mkdirSync(work, { recursive: true })
  await hold(t, work)
  assert.ok(Buffer.byteLength(socketPath(work)) <= 100)
  assert.deepEqual(await askSupervisor(work, 'status'), told('status'))
  assert.ok(lstatSync(join(consoleFolder(work), 'draftsmith.sock')).isSocket())
  await assert.rejects(askSupervisor(`${work}2`, 'status'), { kind: 'unavailable' })
  await assert.rejects(holdWorkplace(work, echo, { askMs: 5000, dyingMs: 0 }), {
    kind: 'superseded',
  })
})

test('workplace: where its folder is open to others, it is refused', async (t) => {
  const work = await scratch(t)
  const dir = consoleFolder(work)
  mkdirSync(dir)
  chmodSync(dir, 0o777)
  await assert.rejects(holdWorkplace(work, echo), {
    kind: 'invalid',
    message: /console.*found=uid \d+, mode 777/,
  })
})

test('workplace: a folder that takes no socket is refused by its name', async (t) => {
  const work = join(await scratch(t), 'file')
  writeFileSync(work, '')
  await assert.rejects(holdWorkplace(work, echo), (error: Error) => /file/.test(error.message))
})

/** All that a socket says to these bytes, to its end. */
async function raw(work: string, ...texts: readonly string[]): Promise<string[]> {
  const socket = connect(socketPath(work)).setEncoding('utf8')
  let said = ''
  socket.on('data', (text: string) => {
    said += text
  })
  for (const text of texts) socket.write(text)
  await once(socket, 'close')
  return said.split('\n').filter((line) => line !== '')
}

test('workplace: a line that is too long is refused, and its connection closed', async (t) => {
  const work = await scratch(t)
  await hold(t, work)
  const [said] = await raw(work, 'x'.repeat(8193))
  assert.match(said, /"v":1,"kind":"error","error":"a line is too long. max=8192"/)
  assert.deepEqual(await askSupervisor(work, 'still'), told('still'))
})

test('workplace: no more than sixteen are connected; the next is told so', async (t) => {
  const work = await scratch(t)
  await hold(t, work)
  const open = await Promise.all(Array.from({ length: 16 }, () => consoleOf(work)))
  await assert.rejects(consoleOf(work), { kind: 'unavailable', message: /too many consoles/ })
  await assert.rejects(holdWorkplace(work, echo, hasty), { kind: 'superseded' })
  for (const client of open) client.close()
  await Promise.all(open.map((client) => client.ended))
})

test('workplace: who reads nothing is told so much at most, and holds up no other', async (t) => {
  const work = await scratch(t)
  const line = 'x'.repeat(1 << 16)
  const lines = 200
  await hold(t, work, async (asked, { tell }) => {
    if (asked === 'flood') for (let i = 0; i < lines; i++) tell({ kind: 'log', line })
    else tell({ kind: 'text', text: asked })
  })
  const slow = connect(socketPath(work)).setEncoding('utf8').pause()
  slow.write('flood\nafter\n')
  assert.deepEqual(await askSupervisor(work, 'other'), told('other'))
  let said = ''
  slow.on('data', (text: string) => {
    said += text
    if (said.includes('"text":"after"')) slow.end()
  })
  slow.resume()
  await once(slow, 'close')
  const left = /… (?<left>\d+) lines of the log are left out/.exec(said)?.groups?.left
  assert.equal(said.split('"kind":"log"').length - 1 + Number(left), lines)
})

test('workplace: who sends more lines than may wait is let go', async (t) => {
  const work = await scratch(t)
  const begun: string[] = []
  const left = deferred<void>()
  await hold(t, work, async (line, { signal }) => {
    begun.push(line)
    await aborted(signal)
    left.resolve()
  })
  const said = await raw(work, Array.from({ length: 18 }, (_, i) => `line ${i}\n`).join(''))
  assert.deepEqual(
    said.map((line) => JSON.parse(line).error),
    ['too many lines wait for an answer. max=16'],
  )
  await left.promise
  assert.deepEqual(begun, ['line 0'])
})

/** `follow` is answered until it is interrupted; what else is said, at once. */
const follows: Answer = async (line, caller) => {
  if (line !== 'follow') return await echo(line, caller)
  caller.tell({ kind: 'log', line: 'first' })
  await aborted(caller.signal)
}

test('workplace: an interrupt ends the command under way; the next is answered', async (t) => {
  const work = await scratch(t)
  await hold(t, work, follows)
  const client = await consoleOf(work)
  await client.ask('follow', () => client.interrupt())
  const heard: unknown[] = []
  await client.ask('next', (answer) => heard.push(answer))
  assert.deepEqual(heard, [{ kind: 'text', text: 'next' }])
  client.close()
})

test('workplace: an empty line, or the sign of an interrupt typed, is a line', async (t) => {
  const work = await scratch(t)
  await hold(t, work, follows)
  const client = await consoleOf(work)
  const heard: unknown[] = []
  for (const line of ['', ' ', '\x03', 'next']) {
    await client.ask(line, (answer) => heard.push(answer))
  }
  assert.deepEqual(
    heard,
    ['', ' ', ' ', 'next'].map((text) => ({ kind: 'text', text })),
  )
  client.close()
  // Of one who is answered later, none of them ends what is under way.
  const socket = connect(socketPath(work)).setEncoding('utf8')
  socket.write('follow\n\n \nnext\n')
  const said: string[] = []
  for await (const line of createInterface({ input: socket })) {
    const { kind, text = kind } = JSON.parse(line)
    said.push(text)
    if (kind === 'log') socket.write('\x03\n')
    else if (text === 'next') socket.end()
  }
  assert.deepEqual(said.slice(0, 7), ['log', 'end', '', 'end', ' ', 'end', 'next'])
})

test('workplace: another version of the program is not talked to', async (t) => {
  const work = await scratch(t)
  const server = createServer((socket) => socket.write('{"v":2,"kind":"who","pid":1}\n'))
  mkdirSync(consoleFolder(work))
  server.listen(socketPath(work))
  await once(server, 'listening')
  t.after(() => server.close())
  await assert.rejects(askSupervisor(work, 'status'), {
    kind: 'invalid',
    message: /want=version 1, found=2/,
  })
})
