/** One kept-alive connection to a store: requests go over it one after the other. */
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { AnswerReader, type Incoming } from './http-answer.ts'
import type { S3Address } from './s3-address.ts'

export type LineTo = Pick<S3Address, 'secure' | 'hostname' | 'port'>

export interface LineLimits {
  /** Until the connection stands, its TLS included. */
  readonly connectMs: number
  /** No byte moves for so long; an idle line is closed then. */
  readonly idleMs: number
}

/** What a line tells its owner. */
export interface LineOwner {
  readonly free: (line: Line) => void
  /** It takes no more requests; told once or more. */
  readonly closed: (line: Line) => void
  /** That a new connection may begin with. */
  readonly session: (session: Buffer) => void
}

/** A request under way. */
interface Underway {
  readonly reader: AnswerReader
  readonly resolve: (answer: Incoming) => void
  readonly reject: (error: Error) => void
  sending: 'under way' | 'done'
  answer?: Incoming
}

export class Line {
  readonly #socket: Socket
  readonly #owner: LineOwner
  #underway: Underway | undefined
  /** By `performance.now()`: the store may close it after that. */
  #freshUntil = Number.POSITIVE_INFINITY
  #failure: Error | undefined

  constructor(socket: Socket, owner: LineOwner) {
    this.#socket = socket
    this.#owner = owner
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    socket.on('end', () => this.#end())
    socket.on('error', (error) => {
      this.#failure ??= error
    })
    socket.on('timeout', () => this.giveUp('a stall'))
    socket.on('close', () => this.#close())
  }

  /**
   * Settles when the connection is done with the request: free for the next, or closed. So whoever
   * counts open requests counts as the server does.
   *
   * @param head  in Latin-1, with the empty line at its end
   * @throws      Error named `TimeoutError` past a deadline; with a code for the rest
   */
  send(head: string, body: Uint8Array): Promise<Incoming> {
    const socket = this.#socket
    return new Promise((resolve, reject) => {
      const underway: Underway = {
        reader: new AnswerReader(),
        resolve,
        reject,
        sending: 'under way',
      }
      this.#underway = underway
      socket.ref()
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(body, (error) => {
        // Of a connection that is being closed Node tells no error, though bytes are left.
        if (error || socket.destroyed) return
        underway.sending = 'done'
        if (underway.answer) this.#done(underway)
      })
      socket.uncork()
    })
  }

  /** False where the store has said that it will not wait so long for another request. */
  get isFresh(): boolean {
    return performance.now() < this.#freshUntil
  }

  /** The request under way fails by it, when the connection is closed. */
  giveUp(what: string): void {
    this.#drop(late(what))
  }

  destroy(): void {
    this.#owner.closed(this)
    this.#socket.destroy()
  }

  #take(bytes: Buffer): void {
    const underway = this.#underway
    // Nobody has asked, or no more: a server that says good-bye, or is out of step.
    if (!underway || underway.answer) {
      this.destroy()
      return
    }
    try {
      const end = underway.reader.take(bytes)
      if (end === undefined) return
      this.#answered(underway, end === bytes.length && underway.reader.keepsAlive)
    } catch (error) {
      this.#drop(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #end(): void {
    const underway = this.#underway
    if (underway && !underway.answer && underway.reader.end()) this.#answered(underway, false)
    // The store takes no more: whatever is under way fails when it is closed.
    this.#owner.closed(this)
  }

  #answered(underway: Underway, isReusable: boolean): void {
    underway.answer = underway.reader.answer
    // A store that refuses before it has the whole body does not want the rest of it.
    const isRefused = underway.answer.status >= 300 && underway.sending === 'under way'
    if (isRefused || !isReusable) this.destroy()
    else if (underway.sending === 'done') this.#done(underway)
  }

  #done(underway: Underway): void {
    if (this.#socket.destroyed || !underway.answer) return
    this.#underway = undefined
    const hint = underway.answer.headers['keep-alive']
    if (hint !== undefined) this.#freshUntil = freshUntil(hint)
    this.#socket.unref()
    this.#owner.free(this)
    underway.resolve(underway.answer)
  }

  #drop(why: Error): void {
    this.#failure ??= why
    this.destroy()
  }

  #close(): void {
    this.#owner.closed(this)
    const underway = this.#underway
    this.#underway = undefined
    const { answer, sending } = underway ?? {}
    // One that grants what it has not got whole has not understood it.
    if (answer && (sending === 'done' || answer.status >= 300)) underway?.resolve(answer)
    else underway?.reject(this.#failure ?? cut())
  }
}

/** A connection that is being made; it may be sent through at once. */
export function dial(
  to: LineTo,
  limits: LineLimits,
  owner: LineOwner & { readonly known: Buffer | undefined },
): Line {
  const { hostname: host, secure } = to
  const port = to.port ?? (secure ? 443 : 80)
  // As Node's own client sets its connections.
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 1000 }
  const socket = secure
    ? connectSecure({
        ...options,
        ALPNProtocols: ['http/1.1'],
        ...(isIP(host) === 0 && { servername: host }),
        ...(owner.known && { session: owner.known }),
      })
    : connect(options)
  if (secure) socket.on('session', owner.session)
  const line = new Line(socket, owner)
  const timer = setTimeout(() => line.giveUp('connecting'), limits.connectMs)
  const clear = () => clearTimeout(timer)
  socket.once(secure ? 'secureConnect' : 'connect', clear)
  socket.once('close', clear)
  socket.setTimeout(limits.idleMs)
  return line
}

/** A second before the store closes it: a request sent then would be lost. */
function freshUntil(hint: string): number {
  const seconds = /timeout=(\d{1,6})/i.exec(hint)?.[1]
  if (seconds === undefined) return Number.POSITIVE_INFINITY
  return performance.now() + (Number(seconds) - 1) * 1000
}

function late(what: string): Error {
  const error = new Error(`a deadline has passed: ${what}`)
  error.name = 'TimeoutError'
  return error
}

const cut = (): Error =>
  Object.assign(new Error('the connection was closed before the answer'), { code: 'ECONNRESET' })
