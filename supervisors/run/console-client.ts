import { lstatSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import {
  type ConsoleAnswer,
  decodeAnswer,
  interruptSign,
  whoWord,
} from '../../protocol/console-lines.ts'
import { Failure } from '../../src/failure.ts'
import { thisPerson } from './person.ts'
import { thisUid } from './socket-path.ts'

type Refusal = Extract<ConsoleAnswer, { kind: 'error' }>

/** A line break would make two lines of one, and another might be a sign. */
const controls = /\p{Cc}/gu

/** The asking end of the work folder's socket. */
export class ConsoleClient {
  readonly #socket: Socket
  #heard: ((answer: ConsoleAnswer) => void) | undefined
  #settle: { resolve: () => void; reject: (error: unknown) => void } | undefined
  /** Settles when nobody is at the other end any more. */
  readonly ended: Promise<void>
  #pid = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    const lines = createInterface({ input: socket })
    // It tells the socket's error a second time, and dies of it where nobody listens.
    lines.on('error', () => socket.destroy())
    lines.on('line', (line) => this.#told(line))
    this.ended = new Promise((resolve) => socket.once('close', () => resolve()))
    socket.on('error', (error) => this.#fail(error))
    socket.once('close', () => this.#fail(new Error('closed without an answer')))
  }

  /**
   * @param askMs  for the first answer
   * @throws  an error of the system's; Failure `invalid`: the socket is another's, or
   *          speaks another version
   */
  static async connect(path: string, askMs: number): Promise<ConsoleClient> {
    requireOwn(path)
    const client = new ConsoleClient(connect(path))
    let refusal: Refusal | undefined
    const late = setTimeout(() => {
      client.#socket.destroy(new Error(`no answer within ${askMs} ms`))
    }, askMs)
    try {
      await client.ask(`${whoWord} ${JSON.stringify(thisPerson())}`, (answer) => {
        if (answer.kind === 'who') client.#pid = answer.pid
        if (answer.kind === 'error') refusal = answer
      })
    } finally {
      clearTimeout(late)
    }
    if (!refusal) return client
    const { error, remedy } = refusal as Refusal
    throw new Failure('unavailable', error, remedy === null ? {} : { remedy })
  }

  /** Of the run's process. */
  get pid(): number {
    return this.#pid
  }

  /**
   * Asks a line; settles at the end of its answer. One at a time.
   *
   * @throws  whatever ended the connection first
   */
  async ask(line: string, heard: (answer: ConsoleAnswer) => void): Promise<void> {
    if (this.#settle) throw new Error('a line is being answered')
    this.#heard = heard
    await new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject }
      if (this.#socket.destroyed) this.#fail(new Error('the connection is closed'))
      else this.#socket.write(`${line.replaceAll(controls, ' ')}\n`)
    })
  }

  /** Ends the command that is under way. */
  interrupt(): void {
    this.#socket.write(`${interruptSign}\n`)
  }

  close(): void {
    this.#socket.destroy()
  }

  #told(line: string): void {
    try {
      const answer = decodeAnswer(line)
      if (answer.kind === 'end') this.#end()
      else this.#heard?.(answer)
    } catch (error) {
      this.#fail(error)
      this.#socket.destroy()
    }
  }

  #end(): void {
    const settle = this.#settle
    this.#settle = undefined
    settle?.resolve()
  }

  #fail(error: unknown): void {
    this.#settle?.reject(error)
    this.#settle = undefined
  }
}

/** Whoever else had made it would hear what is typed, and answer as he likes. */
function requireOwn(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  const own = thisUid()
  if (!found || found.uid === own) return
  throw new Failure(
    'invalid',
    `the socket is another user's. path=${path}, want=uid ${own}, found=uid ${found.uid}`,
    { remedy: 'Run this as the user who runs the supervisor.' },
  )
}
