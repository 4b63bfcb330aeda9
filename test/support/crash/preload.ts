/**
 * Loaded before everything else in each process and thread of a draftsmith under test: puts a
 * function where `probe` looks for one, which ends or slows the process at a moment told by name.
 */
import { appendFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { type Crash, crashVariable, noteNames, notesVariable } from './crash.ts'

const launcherVariable = 'DRAFTSMITH_TEST_LAUNCHER'
const crash: Crash = JSON.parse(process.env[crashVariable] ?? '{}')
const note = (name: string): string => join(process.env[notesVariable] ?? '', name)
/** Set by the launcher for the process it starts; see supervisors/launcher.ts. */
const isSupervised = process.env.DRAFTSMITH_WATCHED !== undefined
/** It holds one actor, of such a process; see supervisors/engine/host.ts. */
const isHost = process.argv[1]?.endsWith('/engine/host.js') ?? false

if (isMainThread) {
  appendFileSync(note(noteNames.pids), `${process.pid}\n`)
  if (!isSupervised) process.env[launcherVariable] = String(process.pid)
  else if (crash.afterMs !== undefined && !isHost) setTimeout(end, crash.afterMs).unref()
}

/** One that stands still for longer shows no life, and is ended for that. */
const holdMsMax = 10_000
let hits = 0
let holds = 0
Object.assign(globalThis, {
  [Symbol.for('draftsmith.probe')]: (moment: string) => {
    if (crash.slow?.at === moment) wait(crash.slow.ms)
    if (crash.hold?.at === moment && ++holds >= crash.hold.hit) {
      const until = performance.now() + holdMsMax
      while (!existsSync(note(noteNames.letGo)) && performance.now() < until) wait(20)
    }
    if (crash.at === moment && isDuring() && ++hits >= (crash.hit ?? 1)) end()
  },
})

function isDuring(): boolean {
  const { during } = crash
  if (during === undefined) return true
  const names = readdirSync(during.spool)
  return during.hashes.some((hash) => names.some((name) => name.startsWith(`.${hash}`)))
}

function end(): void {
  if (!crash.always && !isFirst()) return
  if (crash.end === 'thread') throw new Error('ended by a test')
  if (crash.end === 'memory') takeMemory()
  // A launcher that is gone already has left this process to another parent.
  const isOurs = String(process.ppid) === process.env[launcherVariable]
  if (crash.end === 'all' && isOurs) process.kill(process.ppid, 'SIGKILL')
  process.kill(process.pid, crash.end === 'abort' ? 'SIGABRT' : 'SIGKILL')
  // The signal may take a moment; nothing must happen after the moment that was named.
  wait(60_000)
}

/** Some seconds' worth, and not more than a machine with a test has. */
function takeMemory(): void {
  const taken: Uint8Array[] = []
  while (taken.length < 128) taken.push(new Uint8Array(8 * 2 ** 20).fill(taken.length + 1))
}

/** Only one thread of one process ends it. */
function isFirst(): boolean {
  try {
    writeFileSync(note(noteNames.crashed), '', { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
