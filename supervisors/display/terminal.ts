import type { RunStatus } from '../../protocol/console.ts'
import type { Source } from '../run/command-audit.ts'
import type { FrontDesk } from '../run/front-desk.ts'
import { LogTail } from '../run/log-tail.ts'
import { thisPerson } from '../run/person.ts'
import { Answering, type Asker, type Place } from './answering.ts'
import type { LineHistory } from './line-history.ts'
import { logLine } from './log-line.ts'
import { progressLines } from './progress.ts'
import { Prompt } from './prompt.ts'
import { Screen } from './screen.ts'

/**
 * A run on a terminal: its log lines scroll by, below them the progress bars, and, where keys can
 * be read, a prompt. The lines come from the log's file, so that the last words of a dying thread
 * are among them.
 */

const redrawMs = 200

export interface TerminalParts {
  readonly desk: Pick<FrontDesk, 'completions' | 'run' | 'status'>
  readonly logFile: string
  readonly history: LineHistory
}

export class Terminal {
  readonly #desk: TerminalParts['desk']
  readonly #log: LogTail
  readonly #screen = new Screen(process.stderr)
  readonly #prompt: Prompt | undefined
  #state: 'open' | 'closed' = 'open'
  readonly #timer: NodeJS.Timeout
  /** In place of the progress bars. */
  #picture: readonly string[] | null = null
  /** The log's lines wait until nobody follows an actor's. */
  #isFollowing = false

  constructor({ desk, history, logFile }: TerminalParts) {
    this.#desk = desk
    this.#log = new LogTail(logFile)
    if (process.stdin.isTTY) this.#prompt = this.#openPrompt(history)
    this.#draw()
    this.#timer = setInterval(() => this.#draw(), redrawMs)
  }

  /** The last lines, and a clear screen below them. */
  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    clearInterval(this.#timer)
    this.#screen.write(this.#logLines())
    this.#prompt?.close()
    this.#log.close()
  }

  #openPrompt(history: LineHistory): Prompt {
    const asker = askerOf(this.#desk)
    const prompt: Prompt = new Prompt({
      output: process.stderr,
      history,
      completions: asker.completions,
      offer: (choices) => this.#say(choices.join('   ')),
      entered: (line) => {
        // The line that was typed and its break stay; the bars are drawn anew below the answer.
        this.#screen.left()
        void answering.answer(line).then(() => this.#draw())
      },
      // Ctrl-C on the prompt is the signal it is everywhere else.
      interrupted: () => process.kill(process.pid, 'SIGINT'),
      // Ctrl-D ends what reads lines, not the run.
      ended: () => {
        if (this.#state === 'open') prompt.reopen()
      },
    })
    const answering = new Answering(asker, this.#place(prompt))
    return prompt
  }

  #place(prompt: Prompt): Place {
    const screen = this.#screen
    return {
      // It may be drawn wider or narrower meanwhile.
      get columns() {
        return screen.columns
      },
      say: (text) => this.#say(text),
      write: (text) => {
        screen.write(text)
        this.#draw()
      },
      picture: (lines) => {
        this.#picture = lines
        this.#draw()
      },
      follows: (following) => {
        this.#isFollowing = following
      },
      takeKeys: (pressed) => prompt.takeKeys(pressed),
    }
  }

  /** Above the bars, like a line of the log. */
  #say(text: string): void {
    if (this.#state === 'closed') return
    this.#screen.say(text)
    this.#draw()
  }

  #draw(): void {
    if (this.#state === 'closed') return
    const { columns } = this.#screen
    const bars = this.#picture ?? progressLines(this.#desk.status(), columns)
    this.#screen.draw(this.#isFollowing ? '' : this.#logLines(), bars)
    this.#prompt?.show()
  }

  #logLines(): string {
    return this.#log
      .read()
      .map((line) => logLine(line, this.#screen.columns))
      .join('')
  }
}

const askerOf = (desk: TerminalParts['desk']): Asker => ({
  status: async (): Promise<RunStatus> => desk.status(),
  completions: async (line) => desk.completions(line),
  run: (line, hearing) => desk.run(line, here, hearing),
})

const here: Source = { from: 'terminal', who: thisPerson() }
