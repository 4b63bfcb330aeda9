import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { Refusal } from '../../src/dev-s3/answer.ts'
import { readRaw, receive } from '../../src/dev-s3/body.ts'
import { Multiparts } from '../../src/dev-s3/multipart.ts'
import { operationOf, route } from '../../src/dev-s3/route.ts'
import { Shelf } from '../../src/dev-s3/shelf.ts'
import { send } from '../../src/dev-s3/trouble.ts'

/**
 * A server that throws samples away and says that it has stored them: what a client reaches where
 * no store holds it up. It keeps the manifest, which is read back, and looks at no signature. The
 * arguments are the bucket, then a certificate and its key, where it is to speak TLS. It is killed
 * when it has served.
 */

const [bucket = '', cert, key] = process.argv.slice(2)
const shelf = new Shelf(undefined)
shelf.addBucket(bucket)
const shop = { shelf, multiparts: new Multiparts(shelf) }

function answer(request: IncomingMessage, response: ServerResponse): void {
  const place = operationOf(request)
  if (place.operation !== 'PutObject' || place.key.includes('/manifest/')) {
    keep(request, response).catch(() => response.destroy())
    return
  }
  request.resume().on('end', () => {
    const crc = request.headers['x-amz-checksum-crc32']
    if (crc !== undefined) response.setHeader('x-amz-checksum-crc32', crc)
    response.writeHead(200, { etag: '"0"', 'content-length': '0' }).end()
  })
}

async function keep(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const place = operationOf(request)
  const { headers } = request
  const got = receive(await readRaw(request), { operation: place.operation, headers })
  try {
    send(response, route(shop, { ...place, ...got, headers }, undefined))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    send(response, error.answer())
  }
}

const secure = cert !== undefined && key !== undefined
const server = secure
  ? createSecureServer({ cert: readFileSync(cert), key: readFileSync(key) }, answer)
  : createServer(answer)
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const endpoint = `${secure ? 'https' : 'http'}://127.0.0.1:${port}`
  process.stdout.write(`${JSON.stringify({ endpoint })}\n`)
})
