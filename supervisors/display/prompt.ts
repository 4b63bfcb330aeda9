import { createInterface, type Interface } from 'node:readline'
import type { LineHistory } from './line-history.ts'

export interface PromptParts {
  readonly output: NodeJS.WriteStream
  readonly history: LineHistory
  readonly completions: (line: string) => Promise<readonly string[]>
  /** What may follow, where it is more than one. */
  readonly offer: (choices: readonly string[]) => void
  readonly entered: (line: string) => void
  /** Ctrl-C. */
  readonly interrupted: () => void
  /** Ctrl-D, or no terminal any more. */
  readonly ended: () => void
}

/** Where commands are typed; or, for a while, where keys are pressed. */
export class Prompt {
  readonly #parts: PromptParts
  #line: Interface | undefined
  #pressed: ((keys: Buffer) => void) | undefined

  constructor(parts: PromptParts) {
    this.#parts = parts
    this.#open()
  }

  /** Draws it anew, with what was typed by now. */
  show(): void {
    this.#line?.prompt(true)
  }

  close(): void {
    this.#noKeys()
    this.#closeLine()
  }

  /** Keys go to `pressed`, until what is returned is called: then lines are typed again. */
  takeKeys(pressed: (keys: string) => void): () => void {
    this.#closeLine()
    this.#pressed = (keys) => pressed(keys.toString('latin1'))
    process.stdin.setRawMode(true)
    process.stdin.on('data', this.#pressed)
    process.stdin.resume()
    return () => {
      if (!this.#pressed) return
      this.#noKeys()
      this.#open()
    }
  }

  #noKeys(): void {
    if (!this.#pressed) return
    process.stdin.off('data', this.#pressed)
    process.stdin.setRawMode(false)
    process.stdin.pause()
    this.#pressed = undefined
  }

  #open(): void {
    const { ended, entered, history, interrupted, output } = this.#parts
    const line = createInterface({
      input: process.stdin,
      output,
      prompt: 'draftsmith> ',
      history: history.read(),
      historySize: 1000,
      removeHistoryDuplicates: true,
      completer: (typed: string, done: (error: null, found: [string[], string]) => void) => {
        // Of a run that has ended meanwhile, others tell.
        const asked = this.#parts.completions(typed).catch(() => [])
        void asked.then((choices) => {
          // Who has typed on meanwhile, or entered the line, means another one by now.
          if (this.#line !== line) return
          const isThere = line.line.slice(0, line.cursor) === typed
          done(null, [isThere ? this.#extended(typed, choices) : [], typed])
        })
      },
    })
    line.on('line', (typed) => {
      history.add(typed)
      entered(typed)
    })
    line.on('SIGINT', interrupted)
    line.on('close', () => {
      if (this.#line !== line) return
      this.#line = undefined
      ended()
    })
    this.#line = line
  }

  /** Ctrl-D was pressed, and is not to end anything. */
  reopen(): void {
    if (!this.#line && !this.#pressed) this.#open()
  }

  #closeLine(): void {
    const line = this.#line
    this.#line = undefined
    line?.close()
  }

  /** Readline would print the choices where a picture is drawn over them. */
  #extended(typed: string, choices: readonly string[]): string[] {
    if (choices.length <= 1) return [...choices]
    const common = choices.reduce(commonStart)
    if (common.length > typed.length) return [common]
    this.#parts.offer(choices.map(lastWord))
    return []
  }
}

const lastWord = (choice: string): string => choice.trimEnd().split(' ').at(-1) ?? ''

function commonStart(a: string, b: string): string {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return a.slice(0, length)
}
