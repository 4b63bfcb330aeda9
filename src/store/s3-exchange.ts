/**
 * One request and its answer over a kept-alive connection, each of its waits under a deadline. It
 * settles when the socket is done with it: free for the next, or closed. So whoever counts open
 * requests counts as the server does.
 */
import {
  type Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { S3Address } from './s3-address.ts'

/** Of an answer's body; an error's XML is far shorter. */
const BODY_BYTES_MAX = 64 * 1024

export interface Outgoing {
  readonly to: Pick<S3Address, 'secure' | 'hostname' | 'port'>
  readonly method: string
  readonly path: string
  /** The Host header among them. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface Incoming {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Cut to 64 KiB. */
  readonly body: string
}

export interface ExchangeLimits {
  readonly agent: Agent
  /** Until the connection stands, its TLS included. */
  readonly connectMs: number
  /** No byte moves for so long. */
  readonly idleMs: number
  /** Whole: the exchange is given up. */
  readonly signal: AbortSignal
}

/** @throws Error named `TimeoutError` past a deadline; Node's own, with its code, for the rest */
export function exchange(outgoing: Outgoing, limits: ExchangeLimits): Promise<Incoming> {
  const { to, method, path, headers, body } = outgoing
  const { signal, agent, idleMs } = limits
  return new Promise((resolve, reject) => {
    const open = to.secure ? httpsRequest : httpRequest
    const target = { hostname: to.hostname, ...(to.port !== undefined && { port: to.port }) }
    const sent = open({ ...target, method, path, headers, agent, setHost: false, timeout: idleMs })
    const giveUp = () => sent.destroy(late('the whole of it'))
    let failure: Error | undefined
    let received: Incoming | undefined
    sent.on('error', (error) => {
      failure ??= error
    })
    sent.on('timeout', () => sent.destroy(late('a stall')))
    boundConnect(sent, to.secure ? 'secureConnect' : 'connect', limits.connectMs)
    sent.on('response', (answer) => {
      receive(answer, sent, (incoming) => {
        received = incoming
      })
    })
    sent.on('close', () => {
      signal.removeEventListener('abort', giveUp)
      if (received) resolve(received)
      else reject(failure ?? cut())
    })
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
    else sent.end(body)
  })
}

function boundConnect(sent: ClientRequest, standing: string, connectMs: number): void {
  sent.once('socket', (socket) => {
    if (sent.reusedSocket) return
    const timer = setTimeout(() => sent.destroy(late('connecting')), connectMs)
    const clear = () => clearTimeout(timer)
    socket.once(standing, clear)
    sent.once('close', clear)
  })
}

function receive(
  answer: IncomingMessage,
  sent: ClientRequest,
  done: (incoming: Incoming) => void,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  answer.on('data', (chunk: Buffer) => {
    if (bytes < BODY_BYTES_MAX) chunks.push(chunk)
    bytes += chunk.length
  })
  answer.on('error', (error) => sent.destroy(error))
  answer.on('end', () => {
    const { statusCode: status = 0, headers } = answer
    const body =
      chunks.length === 0 ? '' : Buffer.concat(chunks).toString('utf8', 0, BODY_BYTES_MAX)
    done({ status, headers, body })
    // The store has answered before it had the whole body, which it does not want any more.
    if (status >= 300 && !sent.writableFinished) sent.destroy()
  })
}

function late(what: string): Error {
  const error = new Error(`a deadline has passed: ${what}`)
  error.name = 'TimeoutError'
  return error
}

const cut = (): Error =>
  Object.assign(new Error('the connection was closed before the answer'), { code: 'ECONNRESET' })
