/**
 * Loaded before everything else in each process and thread of a draftsmith in a drill or test: puts
 * a function where `probe` looks for one, which ends or slows the process at a moment told by name,
 * and may note each.
 */
import { appendFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread, threadId } from 'node:worker_threads'
import { type Crash, crashVariable, noteNames, notesVariable } from './crash.ts'
import { ended } from './moments.ts'

/** What the machine's clock says, whatever this process is told. */
const realNow = Date.now
const launcherVariable = 'DRAFTSMITH_DRILL_LAUNCHER'
const crashes: readonly Crash[] = JSON.parse(process.env[crashVariable] ?? '[]')
const note = (name: string): string => join(process.env[notesVariable] ?? '', name)
/** Set by the launcher for the process it starts; see supervisors/launcher.ts. */
const isSupervised = process.env.DRAFTSMITH_WATCHED !== undefined
/** It holds one actor, of such a process; see supervisors/engine/host.ts. */
const isHost = process.argv[1]?.endsWith('/engine/host.js') ?? false
const isNoted = crashes.some(({ noted }) => noted)
/** One that stands still for longer shows no life, and is ended for that. */
const holdMsMax = 10_000
/** By the crash's place: how often this thread has met its moment, and stood still at it. */
const hits = crashes.map(() => 0)
const holds = crashes.map(() => 0)

if (isMainThread) {
  appendFileSync(note(noteNames.pids), `${process.pid}\n`)
  if (!isSupervised) process.env[launcherVariable] = String(process.pid)
}
for (const [index, { afterMs, clock }] of crashes.entries()) {
  const isMain = isMainThread && isSupervised && !isHost
  if (isMain && afterMs !== undefined) setTimeout(() => end(index), afterMs).unref()
  if (clock) setClock(clock)
}

Object.assign(globalThis, {
  [Symbol.for('draftsmith.probe')]: (moment: string) => {
    if (isNoted) noteMoment(moment)
    for (const index of crashes.keys()) meet(index, moment)
  },
})

function meet(index: number, moment: string): void {
  const crash = crashes[index]
  if (crash.slow?.at === moment) wait(crash.slow.ms)
  if (crash.hold?.at === moment && ++holds[index] >= crash.hold.hit) {
    const until = performance.now() + holdMsMax
    while (!existsSync(note(noteNames.letGo)) && performance.now() < until) wait(20)
  }
  if (crash.at !== moment || !isDuring(crash) || ++hits[index] < (crash.hit ?? 1)) return
  if (crash.laterMs === undefined) end(index)
  else setTimeout(() => end(index), crash.laterMs)
}

function isDuring({ during }: Crash): boolean {
  if (during === undefined) return true
  const names = readdirSync(during.spool)
  return during.hashes.some((hash) => names.some((name) => name.startsWith(`.${hash}`)))
}

function end(index: number): void {
  const { always, end: how } = crashes[index]
  if (!always && !isFirst(index)) return
  const isThreads = how === 'thread' || how === 'exit' || how === 'hang' || isHost
  const what = isThreads ? 'thread' : how === 'all' ? 'all' : 'process'
  if (isNoted) noteMoment(`${ended}:${what}`)
  if (how === 'thread') throw new Error('ended by a drill')
  // Of a thread: it ends that thread alone, before the next instruction.
  if (how === 'exit') process.exit(1)
  while (how === 'hang') hits[index]++
  if (how === 'memory') takeMemory()
  // A launcher that is gone already has left this process to another parent.
  const isOurs = String(process.ppid) === process.env[launcherVariable]
  if (how === 'all' && isOurs) process.kill(process.ppid, 'SIGKILL')
  process.kill(process.pid, how === 'abort' ? 'SIGABRT' : 'SIGKILL')
  // The signal may take a moment; nothing must happen after the moment that was named.
  wait(60_000)
}

function noteMoment(moment: string): void {
  const line = `${realNow()} ${process.pid} ${threadId} ${moment}\n`
  appendFileSync(note(noteNames.moments), line)
}

/**
 * Where every clock of the program enters: those that it passes around read this one at each look,
 * and the S3 client, which signs with it, takes no other.
 */
function setClock({ afterMs, byMs }: { readonly afterMs: number; readonly byMs: number }): void {
  const now = () => realNow() + (performance.now() > afterMs ? byMs : 0)
  Date.now = now
  globalThis.Date = new Proxy(Date, {
    construct: (target, given, as) => Reflect.construct(target, given.length ? given : [now()], as),
  })
}

/** Some seconds' worth, and not more than a machine with a test has. */
function takeMemory(): void {
  const taken: Uint8Array[] = []
  while (taken.length < 128) taken.push(new Uint8Array(8 * 2 ** 20).fill(taken.length + 1))
}

/** Only one thread of one process ends it. */
function isFirst(index: number): boolean {
  try {
    writeFileSync(note(`${noteNames.crashed}-${index}`), '', { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
