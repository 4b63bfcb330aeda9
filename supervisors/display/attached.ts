import type { Hearing } from '../../actors/console/desk.ts'
import { statusText } from '../../actors/console/text.ts'
import { topText } from '../../actors/console/top-text.ts'
import { treeText } from '../../actors/console/tree-text.ts'
import type { RunStatus } from '../../protocol/console.ts'
import { completeWord, pollWord } from '../../protocol/console-lines.ts'
import { Failure } from '../../src/failure.ts'
import type { ConsoleClient } from '../run/console-client.ts'
import type { Asker } from './answering.ts'

/** A run as it is asked over its socket; one line at a time, in the order they come. */
export class Attached implements Asker {
  readonly #client: ConsoleClient
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: ConsoleClient) {
    this.#client = client
  }

  async status(): Promise<RunStatus> {
    return await this.#inTurn(async () => {
      let status: RunStatus | undefined
      await this.#client.ask(pollWord, (answer) => {
        if (answer.kind === 'status') status = answer.status
      })
      return status ?? gone()
    })
  }

  async completions(line: string): Promise<readonly string[]> {
    return await this.#inTurn(async () => {
      const found: string[] = []
      await this.#client.ask(`${completeWord} ${line}`, (answer) => {
        if (answer.kind === 'choices') found.push(...answer.choices)
      })
      return found
    })
  }

  async run(line: string, hearing: Hearing): Promise<string> {
    return await this.#inTurn(() => this.#run(line, hearing))
  }

  async #run(line: string, { columns, follows, log, say, signal }: Hearing): Promise<string> {
    const draw = drawn[line.trim()]
    let refusal: Failure | undefined
    const interrupt = () => this.#client.interrupt()
    signal.addEventListener('abort', interrupt, { once: true })
    try {
      const asked = this.#client.ask(line, (answer) => {
        if (answer.kind === 'follows') follows()
        else if (answer.kind === 'log') log(answer.line)
        else if (answer.kind === 'status' && draw) say(draw(answer.status, columns))
        else if (answer.kind === 'text' && !draw) say(answer.text)
        else if (answer.kind === 'error') refusal = refusalOf(answer)
      })
      // Told before it was asked: it wants what there is by now.
      if (signal.aborted) interrupt()
      await asked
    } finally {
      signal.removeEventListener('abort', interrupt)
    }
    if (refusal) throw refusal
    return ''
  }

  #inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(ask)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

/** What is drawn here, as wide as this terminal is. */
const drawn: Readonly<Record<string, (status: RunStatus, columns: number) => string>> = {
  status: statusText,
  tree: treeText,
  top: topText,
}

const refusalOf = ({ error, remedy }: { error: string; remedy: string | null }): Failure =>
  new Failure('invalid', error, remedy === null ? {} : { remedy })

function gone(): never {
  throw new Failure('unavailable', 'the run tells nothing of itself')
}
