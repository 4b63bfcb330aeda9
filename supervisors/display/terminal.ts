import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { createInterface, type Interface } from 'node:readline'
import { completions, runLine } from '../../actors/console/command.ts'
import type { RootControl } from '../../protocol/console.ts'
import { explain, isFailure } from '../../src/failure.ts'
import { fitted } from '../../src/fitted.ts'
import { logLine } from './log-line.ts'
import { progressLines } from './progress.ts'

/**
 * A run on a terminal: its log lines scroll by, below them the progress bars, and, where keys can
 * be read, a prompt. The lines come from the log's file, so that the last words of a dying thread
 * are among them.
 */

const redrawMs = 200
const readBytes = 64 * 1024

export class Terminal {
  readonly #root: RootControl
  readonly #log: LogTail
  #prompt: Interface | undefined
  #state: 'open' | 'closed' = 'open'
  readonly #timer: NodeJS.Timeout
  /** Bars on the screen, above where the cursor is. */
  #drawn = 0

  constructor(root: RootControl, logFile: string) {
    this.#root = root
    this.#log = new LogTail(logFile)
    if (process.stdin.isTTY) this.#prompt = this.#openPrompt()
    this.#draw()
    this.#timer = setInterval(() => this.#draw(), redrawMs)
  }

  /** The last lines, and a clear screen below them. */
  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    clearInterval(this.#timer)
    this.#write(`${this.#erased()}${this.#log.read()}`)
    this.#drawn = 0
    this.#prompt?.close()
    this.#log.close()
  }

  #openPrompt(): Interface {
    const prompt = createInterface({
      input: process.stdin,
      output: process.stderr,
      prompt: 'draftsmith> ',
      completer: (line: string) => [this.#completed(line), line],
    })
    prompt.on('line', (line) => void this.#answer(line))
    // Ctrl-C on the prompt is the signal it is everywhere else.
    prompt.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    // Ctrl-D ends readline's interface, not the run.
    prompt.on('close', () => {
      if (this.#state === 'open') this.#prompt = this.#openPrompt()
    })
    return prompt
  }

  /** Readline would print the choices where the bars are drawn over them. */
  #completed(line: string): string[] {
    const choices = completions(this.#root, line)
    if (choices.length <= 1) return choices
    this.#say(choices.join('   '))
    return []
  }

  /** Above the bars, like a line of the log. */
  #say(text: string): void {
    const lines = text.split('\n').map((line) => fitted(line, columns(), '    '))
    this.#write(`${this.#erased()}${lines.join('\n')}\n`)
    this.#drawn = 0
    this.#draw()
  }

  async #answer(line: string): Promise<void> {
    // The line that was typed and its line break stay; the bars are drawn anew below the answer.
    this.#drawn = 0
    const answer = await runLine(this.#root, line).catch((error: unknown) => {
      if (!isFailure(error)) throw error
      return `${explain(error)}. ${error.remedy ?? ''}`
    })
    // The bars may have been drawn meanwhile: they make way, and come again below.
    if (answer) this.#say(answer)
    else this.#draw()
  }

  #draw(): void {
    const lines = progressLines(this.#root.status(), columns())
    this.#write(`${this.#erased()}${this.#log.read()}${lines.join('\n')}\n`)
    this.#drawn = lines.length
    this.#prompt?.prompt(true)
  }

  /** Takes the cursor to the first bar's line, and clears from there. */
  #erased(): string {
    return `\r${this.#drawn > 0 ? `\x1b[${this.#drawn}A` : ''}\x1b[J`
  }

  #write(text: string): void {
    process.stderr.write(text)
  }
}

/** A full line would take the cursor to the next one. */
const columns = (): number => (process.stderr.columns || 80) - 1

/** New lines of a log file, made readable. */
class LogTail {
  readonly #fd: number
  #at: number
  #rest = ''

  constructor(file: string) {
    this.#fd = openSync(file, 'r')
    this.#at = 0
  }

  read(): string {
    const size = fstatSync(this.#fd).size
    let text = this.#rest
    while (this.#at < size) {
      const buffer = Buffer.alloc(Math.min(readBytes, size - this.#at))
      const read = readSync(this.#fd, buffer, 0, buffer.length, this.#at)
      if (read === 0) break
      this.#at += read
      text += buffer.toString('utf8', 0, read)
    }
    const end = text.lastIndexOf('\n') + 1
    this.#rest = text.slice(end)
    return text
      .slice(0, end)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => logLine(line, columns()))
      .join('')
  }

  close(): void {
    closeSync(this.#fd)
  }
}
