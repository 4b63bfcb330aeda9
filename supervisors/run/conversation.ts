import type { Socket } from 'node:net'
import {
  type ConsoleAnswer,
  encodeAnswer,
  interruptSign,
  lineBytesMax,
  whoWord,
} from '../../protocol/console-lines.ts'
import { explain, isFailure } from '../../src/failure.ts'
import { type Person, parsePerson } from './person.ts'

/**
 * One connection to the work folder's socket. Its lines are answered one after the other; one who
 * does not read what he is told holds up himself alone.
 */

/** Lines that wait for their turn. Who sends more is let go: unread, he could not even leave. */
const waitingMax = 16
/** What was written and is not read yet; beyond it, lines of the log are left out. */
const unreadBytesMax = 1 << 20
/** One who reads nothing for so long is let go. */
const unreadMs = 30_000

/** Whoever is at the other end. */
export interface Caller {
  /** Of himself; null where he says nothing. */
  readonly says: Person | null
  /** Aborts when it has gone, or waits no more. */
  readonly signal: AbortSignal
  tell(answer: ConsoleAnswer): void
}

/** Answers a line; what it throws is told too. */
export type Answer = (line: string, caller: Caller) => Promise<void>

export class Conversation {
  readonly #socket: Socket
  readonly #answer: Answer
  readonly #lines: string[] = []
  #rest = ''
  #says: Person | null = null
  #underWay: AbortController | undefined
  #leftOut = 0

  constructor(socket: Socket, answer: Answer) {
    this.#socket = socket
    this.#answer = answer
    socket.setEncoding('utf8')
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#end())
    socket.on('data', (text: string) => this.#heard(text))
  }

  #end(): void {
    this.#lines.length = 0
    this.#underWay?.abort()
  }

  #heard(text: string): void {
    if (!this.#socket.writable) return
    const lines = `${this.#rest}${text}`.split('\n')
    this.#rest = lines.pop() ?? ''
    if ([this.#rest, ...lines].some((line) => Buffer.byteLength(line) > lineBytesMax)) {
      this.#refuse(`a line is too long. max=${lineBytesMax}`)
      return
    }
    for (const line of lines) {
      if (line === interruptSign) this.#underWay?.abort()
      else if (this.#lines.push(line) > waitingMax) {
        this.#refuse(`too many lines wait for an answer. max=${waitingMax}`)
        return
      }
      if (!this.#underWay) void this.#answerAll()
    }
  }

  #refuse(error: string): void {
    this.#tell({ kind: 'error', error, remedy: null })
    this.#socket.destroySoon()
    this.#end()
  }

  async #answerAll(): Promise<void> {
    for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) {
      this.#underWay = new AbortController()
      await this.#answerOne(line, this.#underWay.signal)
      await this.#isRead()
    }
    this.#underWay = undefined
  }

  async #answerOne(line: string, signal: AbortSignal): Promise<void> {
    const [word, said] = splitOnce(line)
    if (word === whoWord) {
      this.#says = parsePerson(said)
      this.#tell({ kind: whoWord, pid: process.pid })
    } else {
      try {
        await this.#answer(line, { says: this.#says, signal, tell: (told) => this.#tell(told) })
      } catch (error) {
        const remedy = (isFailure(error) && error.remedy) || null
        this.#tell({ kind: 'error', error: explain(error), remedy })
      }
    }
    this.#tell({ kind: 'end' })
  }

  #tell(told: ConsoleAnswer): void {
    const socket = this.#socket
    if (!socket.writable) return
    if (told.kind === 'log' && socket.writableLength > unreadBytesMax) {
      this.#leftOut++
      return
    }
    if (this.#leftOut > 0) {
      const text = `… ${this.#leftOut} lines of the log are left out`
      this.#leftOut = 0
      socket.write(encodeAnswer({ kind: 'text', text }))
    }
    socket.write(encodeAnswer(told))
  }

  /** Settles when there is room for another answer, or nobody to read it. */
  #isRead(): Promise<void> {
    const socket = this.#socket
    if (!socket.writableNeedDrain || socket.destroyed) return Promise.resolve()
    return new Promise((resolve) => {
      const late = setTimeout(() => socket.destroy(), unreadMs)
      const done = () => {
        clearTimeout(late)
        socket.off('drain', done)
        socket.off('close', done)
        resolve()
      }
      socket.on('drain', done)
      socket.on('close', done)
    })
  }
}

/** The first word, and all after it. */
function splitOnce(line: string): readonly [string, string] {
  const at = line.indexOf(' ')
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
}
