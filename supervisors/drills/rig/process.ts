import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../../../src/clock.ts'
import { Failure, hasCode } from '../../../src/failure.ts'
import { isAlive } from '../../../src/manifest/holder.ts'
import { type Crash, crashing, noteNames } from './crash.ts'
import { type Moment, momentsIn } from './moments.ts'
import { draftsmithMain } from './program.ts'
import type { Scope } from './scope.ts'

/** A draftsmith as its users run it: a process of its own, which ends with its test or drill. */

/** Against hangs: the longest of these runs takes some seconds on a quiet machine. */
const endMsDefault = 150_000
const tailLines = 25
const lookMs = 25
const notesPrefix = 'notes-'

export interface Start {
  /** Where its notes go: a folder that goes when all is over. */
  readonly dir: string
  readonly env?: Readonly<Record<string, string>>
  /** One, or one after the other, each where it is met. */
  readonly crash?: Crash | readonly Crash[]
  /** When it is taken for hanging. */
  readonly endMs?: number
  /** Default: `dir`. */
  readonly cwd?: string
  /** Absent: draftsmith itself, run by this Node. */
  readonly command?: { readonly file: string; readonly args: readonly string[] }
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  /** Of every process that was started, the launcher's first. */
  pids(): readonly number[]
  /** What was noted of it so far, in order of time. */
  moments(): readonly Moment[]
  /** What a crash holds goes on. */
  letGo(): void
  /** SIGKILL, to every process of it. */
  kill(): void
  /** To the launcher alone. */
  signal(signal: NodeJS.Signals): void
  /**
   * Looks again and again until it gets something else than undefined.
   *
   * @param what  that is awaited
   * @throws      Failure `unavailable`: at its end, or after the time that a run may take
   */
  until<T>(what: string, look: () => Promise<T | undefined>): Promise<T>
  /** @throws Failure `unavailable`: it does not end in time; it is killed then */
  ended(): Promise<Ended>
}

/**
 * This process's variables, but for the one by which Node's runner tells its own files, and, where
 * the keys are the drill's own, for a person's: a profile would go before them.
 */
function inherited(own: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const hasKeys = 'AWS_ACCESS_KEY_ID' in own
  const names = Object.keys(process.env).filter(
    (name) => name !== 'NODE_TEST_CONTEXT' && !(hasKeys && name.startsWith('AWS_')),
  )
  return Object.fromEntries(names.map((name) => [name, process.env[name]]))
}

/** Starts `draftsmith ARGS`. */
export function start(scope: Scope, args: readonly string[], options: Start): Running {
  const notes = mkdtempSync(join(options.dir, notesPrefix))
  const { endMs = endMsDefault } = options
  const { file, args: before } = options.command ?? {
    file: process.execPath,
    args: [draftsmithMain],
  }
  const child = spawn(file, [...before, ...args], {
    // Where an abort may leave its core.
    cwd: options.cwd ?? options.dir,
    // What such a command starts beside draftsmith ends with its group.
    detached: options.command !== undefined,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...inherited(options.env),
      ...options.env,
      ...crashing([options.crash ?? []].flat(), notes),
    },
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  }
  let over: Ended | undefined
  const end = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      over = { code, signal, ...said }
      resolve(over)
    })
  })
  const pids = () => pidsIn(notes)
  scope.after(() => {
    // Its process ends with it, also where the folder has gone before.
    if (!over) child.kill('SIGKILL')
    killAll(pids())
    if (options.command && child.pid !== undefined) kill(-child.pid)
  })

  const failed = (what: string) => {
    killAll(pids())
    const tail = said.stderr.trimEnd().split('\n').slice(-tailLines).join('\n')
    const how = over ? `code=${over.code}, signal=${over.signal}` : 'it was still running'
    const facts = `args=${args.join(' ')}, ${how}, stderr ends:\n${tail}`
    return new Failure('unavailable', `${what} did not come. ${facts}`)
  }
  const until: Running['until'] = async (what, look) => {
    const deadline = Date.now() + endMs
    while (!over && Date.now() < deadline) {
      const found = await look()
      if (found !== undefined) return found
      await sleep(lookMs)
    }
    throw failed(what)
  }
  return {
    pids,
    moments: () => momentsIn(join(notes, noteNames.moments)),
    letGo: () => writeFileSync(join(notes, noteNames.letGo), ''),
    kill: () => killAll(pids()),
    signal: (signal) => void child.kill(signal),
    until,
    ended: async () => {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(failed('its end')), endMs)
      })
      return await Promise.race([end, late]).finally(() => clearTimeout(timer))
    },
  }
}

function pidsIn(notes: string): number[] {
  try {
    const text = readFileSync(join(notes, noteNames.pids), 'utf8')
    // What follows the last line's end is just being written.
    return text.split('\n').slice(0, -1).map(Number)
  } catch {
    return []
  }
}

/** Ends what was started with this folder and has not ended: before the folder goes. */
export function endAll(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (name.startsWith(notesPrefix)) killAll(pidsIn(join(dir, name)))
  }
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids) if (isAlive({ pid })) kill(pid)
}

/** It may be no more by now. @param pid  of a process; negative: of a group */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error
  }
}
