import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Command } from './fresh.ts'

/** A process that stays, and answers each line with a line: JSON, still to be narrowed. */
export interface AskedProcess {
  /** @throws Error: it ended before it answered; what it wrote to stderr tells why */
  ask(line: string): Promise<unknown>
  /** Ends it, and waits for that. */
  close(): Promise<void>
}

/** The longest that one answer takes, compiling included. */
const answerMsMax = 30 * 60_000

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export function startAsked({ command, args, env }: Command): AskedProcess {
  const child = spawn(command, args, { env: { ...process.env, ...env } })
  running.add(child)
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-10_000)
  })
  // A process that has ended is told by the end of its answers, not by a broken pipe.
  child.stdin.on('error', () => undefined)
  const closed = once(child, 'close').finally(() => running.delete(child))
  // Whoever asks is told of it.
  closed.catch(() => undefined)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    ask: async (line) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), answerMsMax)
      child.stdin.write(`${line}\n`)
      const answer = await lines.next().finally(() => clearTimeout(timer))
      if (!answer.done) return JSON.parse(answer.value)
      await closed
      throw new Error(`a measured process ended. command=${command}, args=${args[0]}\n${words}`)
    },
    close: async () => {
      child.kill('SIGKILL')
      await closed
    },
  }
}
