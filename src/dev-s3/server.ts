/**
 * A small S3 server for tests, the demo and drills: on 127.0.0.1 only, never a store for real data.
 * It verifies what Amazon verifies (signatures, checksums, conditions), so that a client's mistakes
 * show, and goes wrong on demand.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { Failure } from '../failure.ts'
import { type Answer, Refusal } from './answer.ts'
import { accessKeyOf, verifySignature } from './auth.ts'
import { readRaw, receive } from './body.ts'
import type { Certificate } from './certificate.ts'
import { type Fault, takeFault } from './faults.ts'
import { Multiparts } from './multipart.ts'
import { operationOf, route, type Shop } from './route.ts'
import { Shelf } from './shelf.ts'
import { answerBy, changed, crawl, cutOff, delayBy, refuseBy, send } from './trouble.ts'

export interface DevS3Options {
  /** Where objects outlive the server; absent: in memory. */
  readonly dir?: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly buckets: readonly string[]
  /** Absent: a free one. */
  readonly port?: number
  /** Given: it speaks TLS, and only that. */
  readonly tls?: Certificate
}

export interface DevS3Stats {
  /** By operation, as S3 names them. */
  readonly requests: Record<string, number>
  readonly bodies: Bodies
  /** Requests that have begun and are not answered, now and at most. */
  open: number
  peak: number
}

/** What was put of objects, whatever was answered. */
export interface Bodies {
  puts: number
  bytes: number
  /** Of a key whose whole body had come before. */
  again: number
  bytesAgain: number
}

export interface DevS3 {
  readonly endpoint: string
  readonly port: number
  readonly stats: DevS3Stats
  /** Push, or empty, at any time; the first that matches is taken. */
  readonly faults: Fault[]
  /** Access keys and their secrets; change them at any time. */
  readonly secrets: Map<string, string>
  /** Nobody listens any more, and every connection is cut; all that is stored stays. */
  leave(): Promise<void>
  /** Listens again, on the same port. */
  comeBack(): Promise<void>
  close(): Promise<void>
}

export async function startDevS3(options: DevS3Options): Promise<DevS3> {
  const shelf = new Shelf(options.dir)
  for (const bucket of options.buckets) shelf.addBucket(bucket)
  const shop: Shop = { shelf, multiparts: new Multiparts(shelf) }
  const bodies: Bodies = { puts: 0, bytes: 0, again: 0, bytesAgain: 0 }
  const stats: DevS3Stats = { requests: {}, bodies, open: 0, peak: 0 }
  const came = new Set<string>()
  const faults: Fault[] = []
  const secrets = new Map([[options.accessKeyId, options.secretAccessKey]])

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    stats.open += 1
    stats.peak = Math.max(stats.peak, stats.open)
    response.once('close', () => {
      stats.open -= 1
    })
    const serving = serve({ shop, stats, came, faults, secrets }, request, response)
    // The peer went away in the middle: there is nobody to tell.
    serving.catch(() => response.destroy())
  }
  const settings = { keepAliveTimeout: 60_000 }
  const server = options.tls
    ? createSecureServer({ ...settings, ...options.tls }, answer)
    : createServer(settings, answer)
  const listen = (on: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(on, '127.0.0.1', resolve)
    })
  const leave = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  await listen(options.port ?? 0)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Failure('invalid', 'no TCP port.')
  const { port } = address
  return {
    endpoint: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    stats,
    faults,
    secrets,
    leave,
    comeBack: () => listen(port),
    close: leave,
  }
}

interface Context {
  readonly shop: Shop
  readonly stats: DevS3Stats
  /** Keys whose whole body has come. */
  readonly came: Set<string>
  readonly faults: Fault[]
  readonly secrets: ReadonlyMap<string, string>
}

async function serve(
  context: Context,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const place = operationOf(incoming)
  const { requests } = context.stats
  requests[place.operation] = (requests[place.operation] ?? 0) + 1
  const accessKeyId = accessKeyOf(incoming)
  const fault = takeFault(context.faults, { ...place, accessKeyId })
  if (fault?.kind === 'reset' || fault?.kind === 'half-read') {
    await readRaw(incoming, Number(incoming.headers['content-length'] ?? 0) / 2)
    if (fault.kind === 'reset') return cutOff(incoming.socket)
    response.setHeader('connection', 'close')
    return send(response, new Refusal(503, 'SlowDown').answer())
  }
  if (fault?.kind === 'crawl') await crawl(incoming, fault.bytesPerSecond)
  const raw = await readRaw(incoming)
  if (place.operation === 'PutObject') countBody(context, place.key, raw.length)
  if (fault?.kind === 'stall') return
  if (fault) await delayBy(fault, context.faults)
  const answer = answerOf(() => {
    if (fault) refuseBy(fault, incoming)
    verifySignature(incoming, context.secrets)
    const { operation } = place
    const { headers } = incoming
    const got = receive(fault?.kind === 'flip' ? changed(raw) : raw, { operation, headers })
    const kept =
      fault?.kind === 'truncate' ? { body: got.body.subarray(got.body.length >> 1) } : got
    return route(context.shop, { ...place, ...kept, headers }, fault?.kind)
  })
  await answerBy(fault, response, answer)
}

function countBody({ stats: { bodies }, came }: Context, key: string, bytes: number): void {
  if (!key.includes('hidden-states/')) return
  bodies.puts += 1
  bodies.bytes += bytes
  if (came.has(key)) {
    bodies.again += 1
    bodies.bytesAgain += bytes
  }
  came.add(key)
}

function answerOf(work: () => Answer): Answer {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return error.answer()
    throw error
  }
}
