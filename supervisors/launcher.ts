import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { type Clock, sleep, systemClock } from '../src/clock.ts'
import type { Failure } from '../src/failure.ts'
import type { Log } from '../src/log.ts'
import { refusedStart } from './refused-start.ts'
import { exitCodes } from './run/machine.ts'
import { endSignals, exitCodeOf, onEndSignals, type Urgency } from './run/signals.ts'

/**
 * The level above the process: starts it again when it was aborted, killed or wedged. It computes
 * nothing and holds no native code, so that nothing that ends the process ends it.
 */

/** Tells the child that a launcher watches it, and how the process before it died. */
const watchedVariable = 'DRAFTSMITH_WATCHED'
const noDeath = 'first'
/** Tells the child which call of the command it serves: the same after each of its deaths. */
const callVariable = 'DRAFTSMITH_CALL'

/**
 * Of this call of the command. What a person asked for once is done once, however often the process
 * is started for it.
 */
export const callId = (): string => process.env[callVariable] ?? randomUUID()

/** What the child may tell the launcher. */
export type WordToLauncher =
  /** The last death was a batch's fault: it does not count here. */
  | { readonly blamed: 'batch' }
  /** It was told to stop, and can end only by a kill: this is its exit code. */
  | { readonly exit: number }

/** True in a process that a launcher has started. */
export const isWatched = (): boolean => process.env[watchedVariable] !== undefined

/** How the process before this one died; null where none did, or none saw it. */
export function deathBefore(): string | null {
  const death = process.env[watchedVariable]
  return death === undefined || death === noDeath ? null : death
}

/** Settles when the word is on its way, however the process ends after it. */
export const tellLauncher = (word: WordToLauncher): Promise<void> =>
  new Promise((resolve) => {
    if (process.send) process.send(word, () => resolve())
    else resolve()
  })

/** The launcher is this process's life: without it nobody would start the run again. */
export function dieWithLauncher(): void {
  const die = () => process.kill(process.pid, 'SIGKILL')
  // It may have died while this program was loaded: of that no event tells any more.
  if (isWatched() && !process.connected) die()
  process.on('disconnect', die)
  process.channel?.unref()
}

export type Verdict = { readonly exit: number } | { readonly relaunch: string }

/**
 * What follows from how the process ended. An exit code of ours is the end; all else is a fault.
 */
export function verdict(code: number | null, signal: NodeJS.Signals | null): Verdict {
  const end = endSignals.find((name) => name === signal)
  if (end) return { exit: exitCodeOf(end) }
  if (signal) return { relaunch: signal }
  const ours =
    code !== null && (code <= exitCodes.stopped || endSignals.map(exitCodeOf).includes(code))
  return ours ? { exit: code } : { relaunch: `exit code ${code}` }
}

const restarts = { max: 5, withinMs: 600_000 }
const delayMs = { first: 250, cap: 10_000 }

/** How a start came to its end; `refused`: the system did not let it begin. */
type End = Verdict | { readonly refused: Failure }

/** Runs `main.js` with these arguments until it ends by itself; answers its exit code. */
export async function launch(
  main: string,
  args: readonly string[],
  log: Log,
  clock: Clock = systemClock,
): Promise<number> {
  const deaths: number[] = []
  const call = randomUUID()
  let child: ChildProcess | undefined
  /** Its first signal's exit code, and how its last one wants it. */
  const asked: { code?: number; urgency?: Urgency } = {}
  onEndSignals((signal, urgency) => {
    asked.code ??= exitCodeOf(signal)
    asked.urgency = urgency
    if (urgency === 'leave') child?.kill('SIGKILL')
    // A terminal sends Ctrl-C to the child as well.
    else if (signal !== 'SIGINT' || !process.stdin.isTTY) child?.kill(signal)
  })
  let lastDeath = ''
  const begin = () => {
    child = spawn(process.execPath, [...process.execArgv, main, ...args], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, [watchedVariable]: lastDeath || noDeath, [callVariable]: call },
    })
    return child
  }
  for (;;) {
    const end = await ended(begin, () => deaths.pop())
    const { code } = asked
    if (code !== undefined && asked.urgency !== 'leave' && 'relaunch' in end) {
      log.error({ cause: end.relaunch }, 'the process died as it drained: the next start goes on')
      return exitCodes.gaveUp
    }
    if (code !== undefined) return 'exit' in end && end.exit !== 1 ? end.exit : code
    if ('exit' in end) return end.exit
    // A start that was refused saw nothing: the one after it still learns how the last one died.
    if ('relaunch' in end) lastDeath = end.relaunch
    deaths.push(clock.now())
    const recent = deaths.filter((at) => at > clock.now() - restarts.withinMs).length
    const [why, line] = told(end)
    if (recent > restarts.max) {
      log.fatal({ ...why, deaths: recent }, `${line} too often: giving up`)
      return exitCodes.gaveUp
    }
    const waitMs = Math.min(delayMs.cap, delayMs.first * 2 ** (recent - 1))
    log.error({ ...why, count: recent, waitMs }, `${line}: starting it again`)
    await sleep(waitMs, clock)
    if (asked.code !== undefined) return asked.code
  }
}

const told = (end: Exclude<End, { exit: number }>) =>
  'relaunch' in end
    ? ([{ cause: end.relaunch }, 'the process died'] as const)
    : ([{ err: end.refused }, 'the process did not start'] as const)

/** Memory may be short just after it was what ended the process: a refusal is an end as others. */
function ended(begin: () => ChildProcess, forgive: () => void): Promise<End> {
  return new Promise((resolve) => {
    const refused = (error: unknown) => resolve({ refused: refusedStart('process', error) })
    let child: ChildProcess
    try {
      child = begin()
    } catch (error) {
      return refused(error)
    }
    let last: Verdict | undefined
    child.on('message', (word: WordToLauncher) => {
      if ('exit' in word) last = word
      else forgive()
    })
    // Of one that has begun it tells what could not be sent to it: its end tells the rest.
    child.on('error', (error) => child.pid === undefined && refused(error))
    // Not at its `exit`: its last word may come after that.
    child.once('close', (code, signal) => resolve(last ?? verdict(code, signal)))
  })
}
