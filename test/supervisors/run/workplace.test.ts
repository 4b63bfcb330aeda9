import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { askSupervisor, holdWorkplace, socketPath } from '../../../supervisors/run/workplace.ts'
import { scratch } from '../../support/target-run.ts'

const echo = async (line: string) => ({ echo: line })

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
    await holdWorkplace(${JSON.stringify(work)}, async () => ({ text: 'alive' }))
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
  assert.deepEqual(await askSupervisor(work, 'status'), { echo: 'status' })
  assert.equal(lstatSync(socketPath(work)).mode & 0o777, 0o600)
})

test('workplace: what an answer fails with reaches the asker; the next is answered', async (t) => {
  const work = await scratch(t)
  await hold(t, work, async (line) => {
    if (line === 'bad') throw new Error('no such command')
    return { echo: line }
  })
  assert.deepEqual(await askSupervisor(work, 'bad'), { error: 'no such command' })
  assert.deepEqual(await askSupervisor(work, 'good'), { echo: 'good' })
})

test('workplace: a second is refused while the first lives, and told its pid', async (t) => {
  const work = await scratch(t)
  await hold(t, work)
  await assert.rejects(holdWorkplace(work, echo, hasty), {
    kind: 'superseded',
    message: new RegExp(`work=${work}, pid=${process.pid}$`),
  })
  assert.deepEqual(await askSupervisor(work, 'still'), { echo: 'still' })
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
  assert.deepEqual(await askSupervisor(work, 'status'), { echo: 'status' })
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
  const server = createServer((socket) => socket.end('{"status": {"ru'))
  server.listen(socketPath(work))
  await once(server, 'listening')
  t.after(() => server.close())
  await assert.rejects(askSupervisor(work, 'status'), { kind: 'unavailable' })
})

test('workplace: for a long path the socket lies in a folder of the user alone', async (t) => {
  const work = join(await scratch(t), 'deep'.repeat(20), 'deeper'.repeat(10))
  mkdirSync(work, { recursive: true })
  const path = socketPath(work)
  assert.ok(Buffer.byteLength(path) <= 100)
  await hold(t, work)
  assert.deepEqual(await askSupervisor(work, 'status'), { echo: 'status' })
  assert.equal(lstatSync(dirname(path)).mode & 0o777, 0o700)
  assert.notEqual(path, socketPath(`${work}2`))
})

test('workplace: where that folder is open to others, it is refused', async (t) => {
  const work = join(await scratch(t), 'deep'.repeat(20), 'deeper'.repeat(10))
  mkdirSync(work, { recursive: true })
  const dir = dirname(socketPath(work))
  assert.equal(dirname(dir), tmpdir())
  mkdirSync(dir, { recursive: true })
  t.after(() => chmodSync(dir, 0o700))
  chmodSync(dir, 0o777)
  await assert.rejects(holdWorkplace(work, echo), {
    kind: 'invalid',
    message: new RegExp(`${basename(dir)}.*found=uid \\d+, mode 777`),
  })
})

test('workplace: a folder that takes no socket is refused by its name', async (t) => {
  const work = join(await scratch(t), 'file')
  writeFileSync(work, '')
  await assert.rejects(holdWorkplace(work, echo), (error: Error) => /file/.test(error.message))
})
