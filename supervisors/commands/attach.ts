import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { refusalText } from '../display/answering.ts'
import { Attached } from '../display/attached.ts'
import { attachTerminal } from '../display/attached-terminal.ts'
import { LineHistory } from '../display/line-history.ts'
import type { ConsoleClient } from '../run/console-client.ts'
import { exitCodes } from '../run/machine.ts'
import { consoleFolder } from '../run/socket-path.ts'
import { consoleOf } from '../run/workplace.ts'

const columns = 100
const { signal: noEnd } = new AbortController()

/**
 * `attach`: the console of a running supervisor. Where stdin is no terminal, its lines are run one
 * after the other, and the answers printed.
 */
export async function attach(options: { readonly work: string }): Promise<number> {
  const work = resolve(options.work)
  const client = await consoleOf(work)
  try {
    if (!process.stdin.isTTY || !process.stdout.isTTY) return await runLines(client)
    const goesOn = await attachTerminal(client, new LineHistory(consoleFolder(work)))
    process.stdout.write(goesOn ? 'The run goes on.\n' : 'The run’s process has ended.\n')
    return exitCodes.done
  } finally {
    client.close()
  }
}

/** @returns  2 where one was refused */
async function runLines(client: ConsoleClient): Promise<number> {
  const asker = new Attached(client)
  const say = (text: string) => void process.stdout.write(`${text}\n`)
  const follows = () => undefined
  let code: number = exitCodes.done
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      // Nobody is there to press a key: what is followed ends with what there is.
      const signal = line.trimStart().startsWith('log') ? AbortSignal.abort() : noEnd
      await asker.run(line, { say, follows, log: say, columns, signal })
    } catch (error) {
      process.stderr.write(`draftsmith: ${refusalText(error)}\n`)
      code = exitCodes.refused
    }
  }
  return code
}
