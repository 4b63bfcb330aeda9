import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/**
 * Processes that a benchmark measures: each new, so that loading modules costs what it costs a
 * user, and memory is that of the measured work alone.
 */

/** The longest that is measured takes some minutes on a small machine. */
const commandMsMax = 60 * 60_000

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export interface FreshProcess {
  readonly script: URL
  readonly args: readonly string[]
  /** A module that is loaded in the process and in each of its threads before anything else. */
  readonly preload?: URL
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Runs a script to its end.
 *
 * @returns  the JSON document on its stdout, still to be narrowed
 * @throws   Error: it failed; what it wrote to stderr tells why
 */
export async function inFreshProcess({
  script,
  args,
  preload,
  env,
}: FreshProcess): Promise<unknown> {
  const before = preload ? ['--import', preload.href] : []
  const { stdout } = await runCommand({
    command: process.execPath,
    args: [...before, fileURLToPath(script), ...args],
    ...(env && { env }),
  })
  return JSON.parse(stdout)
}

export interface Command {
  readonly command: string
  readonly args: readonly string[]
  /** Beside what this process has. */
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a program to its end. @throws Error: it failed; what it wrote to stderr tells why */
export async function runCommand(
  wanted: Command,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { command, args, env } = wanted
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    timeout: commandMsMax,
    killSignal: 'SIGKILL',
  })
  running.add(child)
  const [stdout, stderr, end] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    ended(child),
  ]).finally(() => running.delete(child))
  if (end === 0) return { stdout, stderr }
  const shown = args.find((arg) => arg.endsWith('.js')) ?? command
  throw new Error(`a measured process failed. script=${shown}, end=${end}\n${stderr}`)
}

/** A program that runs beside what is measured. */
export interface Running {
  readonly stdout: Readable
  /** Settles when it is gone. */
  readonly ended: Promise<unknown>
  /** It leaves in its own time. */
  stop(): Promise<void>
  kill(): Promise<void>
}

export function startProcess({ command, args, env }: Command): Running {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, ...env },
  })
  running.add(child)
  const ended = once(child, 'close').finally(() => running.delete(child))
  const end = (signal: 'SIGTERM' | 'SIGKILL') => async () => {
    child.kill(signal)
    await ended
  }
  return { stdout: child.stdout, ended, stop: end('SIGTERM'), kill: end('SIGKILL') }
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

const ended = (child: ChildProcess): Promise<number | string> =>
  new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(signal ?? code ?? 'unknown'))
  })
