/** How a request is spoilt that a fault has taken: before, in its body, or in its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import { type Answer, Refusal, xml } from './answer.ts'
import { carriesChecksum } from './body.ts'
import type { Fault } from './faults.ts'

const lookMs = 5
/** When each of these faults last let a request through. */
const passed = new WeakMap<Fault, number>()

/** Waits as long as the fault says. */
export async function delayBy(fault: Fault, faults: readonly Fault[]): Promise<void> {
  if (fault.kind === 'delay') await wait(fault.ms)
  if (fault.kind === 'hold') while (faults.includes(fault)) await wait(lookMs)
}

/** Takes as long over a body as so slow a line would; what it reads then lies here already. */
export async function crawl(incoming: IncomingMessage, bytesPerSecond: number): Promise<void> {
  const bytes = Number(incoming.headers['content-length'] ?? 0)
  await wait((bytes / bytesPerSecond) * 1000)
}

/** Throws the Refusal of faults that keep a request from being looked at. */
export function refuseBy(fault: Fault, incoming: IncomingMessage): void {
  if (fault.kind === 'error') {
    const { status, code, retryAfter } = fault
    throw new Refusal(status, code, {
      ...(retryAfter !== undefined && { headers: { 'retry-after': String(retryAfter) } }),
    })
  }
  if (fault.kind === 'throttle') {
    const now = performance.now()
    const isTooSoon = now - (passed.get(fault) ?? Number.NEGATIVE_INFINITY) < fault.everyMs
    if (isTooSoon) throw new Refusal(503, 'SlowDown')
    passed.set(fault, now)
  }
  if (fault.kind === 'refuse-checksums' && carriesChecksum(incoming.headers)) {
    throw new Refusal(501, 'NotImplemented')
  }
}

/** A reset; under TLS, which knows none, the connection ends without a word. */
export function cutOff(socket: Socket | null): void {
  if (socket instanceof TLSSocket) socket.destroy()
  else socket?.resetAndDestroy()
}

/** What arrives of what was sent. */
export function changed(body: Buffer): Buffer {
  const copy = Buffer.from(body)
  if (copy.length > 0) copy.writeUInt8(copy.readUInt8(0) ^ 1)
  return copy
}

/** Sends the answer, or what the fault makes of it. */
export async function answerBy(
  fault: Fault | undefined,
  response: ServerResponse,
  answer: Answer,
): Promise<void> {
  const body = Buffer.from(answer.body ?? '')
  switch (fault?.kind) {
    case 'drop-answer':
      return cutOff(response.socket)
    case 'cut-answer':
      head(response, answer, body)
      response.write(body.subarray(0, body.length >> 1), () => cutOff(response.socket))
      return
    case 'drip':
      head(response, answer, body)
      for (let at = 0; at < body.length && !response.destroyed; at++) {
        response.write(body.subarray(at, at + 1))
        await wait(20)
      }
      response.end()
      return
    case 'endless': {
      response.writeHead(200, { 'content-type': 'application/xml' })
      const more = Buffer.alloc(1 << 20, ' ')
      while (!response.destroyed) {
        if (!response.write(more)) await wait(1)
      }
      return
    }
    case 'garbage':
      return send(response, { status: 200, body: '<html>Please <b>log in' })
    case 'portal':
      return send(response, { status: 200, body: '<html><body>Please log in</body></html>' })
    case 'error-in-200':
      return send(response, xml('Error', '<Code>InternalError</Code>'))
    case 'lost-marker':
      return send(response, { ...answer, body: withoutMarkers(String(body)) })
    case 'stuck-marker':
      return send(response, { ...answer, body: withOneMarker(String(body)) })
    default:
      return send(response, answer)
  }
}

const withoutMarkers = (page: string): string =>
  page.replaceAll(/<(Next\w+)>.*?<\/\1>/g, '').replace('<IsTruncated>false<', '<IsTruncated>true<')

const oneMarker = [
  '<NextContinuationToken>MQ</NextContinuationToken>',
  '<NextKeyMarker>1</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>',
  '<NextPartNumberMarker>1</NextPartNumberMarker>',
].join('')

const withOneMarker = (page: string): string =>
  withoutMarkers(page).replace('<IsTruncated>', `${oneMarker}<IsTruncated>`)

export function send(response: ServerResponse, answer: Answer): void {
  const body = Buffer.from(answer.body ?? '')
  head(response, answer, body)
  response.end(body)
}

function head(response: ServerResponse, answer: Answer, body: Buffer): void {
  const length = answer.status === 204 ? {} : { 'content-length': String(body.length) }
  response.writeHead(answer.status, { ...length, ...answer.headers })
}
