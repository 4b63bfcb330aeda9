import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * Processes that a benchmark measures: each new, so that loading modules costs what it costs a
 * user, and memory is that of the measured work alone.
 */

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
export async function inFreshProcess(fresh: FreshProcess): Promise<unknown> {
  const script = fileURLToPath(fresh.script)
  const preload = fresh.preload ? ['--import', fresh.preload.href] : []
  const child = spawn(process.execPath, [...preload, script, ...fresh.args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...fresh.env },
  })
  running.add(child)
  const [stdout, stderr, end] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    ended(child),
  ]).finally(() => running.delete(child))
  if (end !== 0)
    throw new Error(`a measured process failed. script=${script}, end=${end}\n${stderr}`)
  return JSON.parse(stdout)
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
