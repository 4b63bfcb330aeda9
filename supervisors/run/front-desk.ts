import { completions, goesOn, isOrder, lasts, runLine } from '../../actors/console/command.ts'
import type { Desk, Hearing } from '../../actors/console/desk.ts'
import type { RunStatus } from '../../protocol/console.ts'
import { completeWord, pollWord } from '../../protocol/console-lines.ts'
import { aborted } from '../../src/aborted.ts'
import { explain, isFailure, printable } from '../../src/failure.ts'
import { CommandAudit, type Source } from './command-audit.ts'
import type { Answer, Caller } from './conversation.ts'
import { personText } from './person.ts'

/** Of lines that come over the socket: who is there draws his own for his own terminal. */
const socketColumns = 100

type Note = (outcome: string, answer?: string) => void

/** For whoever watches the run, and did not give it. */
export interface Order {
  readonly order: string
  /** As he says of himself, over the socket. */
  readonly by: string
}

/** Where every command comes by, from wherever: it is run, and noted. */
export class FrontDesk {
  readonly #desk: Desk
  readonly #ordered: (given: Order) => void
  readonly #audit: CommandAudit

  /** @param ordered  hears of each order as it begins */
  constructor(desk: Desk, work: string, ordered: (given: Order) => void) {
    this.#desk = desk
    this.#ordered = ordered
    this.#audit = new CommandAudit(work)
  }

  status(): RunStatus {
    return this.#desk.root.status()
  }

  completions(line: string): string[] {
    return completions(this.#desk, line)
  }

  /**
   * Settles at the signal, too: what goes on then is noted at its end all the same.
   *
   * @throws  as `runLine`
   */
  async run(line: string, source: Source, hearing: Hearing): Promise<string> {
    const note = (outcome: string, answer?: string) =>
      this.#audit.note({ ...source, line: line.trim(), outcome, ...(answer && { answer }) })
    if (isOrder(line)) this.#ordered({ order: printable(line.trim()), by: nameOf(source) })
    if (lasts(line)) note('begun')
    const ended = this.#toItsEnd(line, hearing, note)
    const left = goesOn(line)
    if (left === undefined) return await ended
    let isOver = false
    const over = () => {
      isOver = true
    }
    ended.then(over, over)
    const unawaited = aborted(hearing.signal).then(() => {
      // Whoever leaves later has had his answer.
      if (!isOver) note('not waited for')
      return left
    })
    return await Promise.race([ended, unawaited])
  }

  async #toItsEnd(line: string, hearing: Hearing, note: Note): Promise<string> {
    try {
      const answer = await runLine(this.#desk, line, hearing)
      if (line.trim() !== '') note('done', isOrder(line) ? answer : undefined)
      return answer
    } catch (error) {
      note(outcomeOf(error))
      throw error
    }
  }

  /** Whoever asks over the socket. */
  readonly answer: Answer = async (line, caller) => {
    const [word, ...rest] = line.split(' ')
    if (word === completeWord) {
      return caller.tell({ kind: 'choices', choices: this.completions(rest.join(' ')) })
    }
    if (word === pollWord) return caller.tell({ kind: 'status', status: this.status() })
    await this.#answerCommand(line, caller)
  }

  async #answerCommand(line: string, { says, signal, tell }: Caller): Promise<void> {
    const source: Source = { from: 'socket', says }
    const text = await this.run(line, source, {
      // What goes on unawaited would speak into the next one's answer.
      say: (text) => {
        if (!signal.aborted) tell({ kind: 'text', text })
      },
      follows: () => tell({ kind: 'follows' }),
      log: (line) => tell({ kind: 'log', line }),
      columns: socketColumns,
      signal,
    })
    if (statusCommands.has(line.trim())) tell({ kind: 'status', status: this.status() })
    if (text !== '') tell({ kind: 'text', text })
  }
}

function nameOf(source: Source): string {
  const who = source.from === 'terminal' ? source.who : source.says
  return who ? personText(who) : 'somebody, over the socket'
}

/** A bug of what is only said and shown must not end the run: it is told, and noted whole. */
function outcomeOf(error: unknown): string {
  if (isFailure(error, 'invalid')) return `refused: ${explain(error)}`
  const isBug = error instanceof Error && !isFailure(error)
  return isBug ? `bug: ${error.stack}` : `failed: ${explain(error)}`
}

/** Their askers may draw the same by themselves, as wide as they are. */
const statusCommands: ReadonlySet<string> = new Set(['status', 'tree', 'top'])
