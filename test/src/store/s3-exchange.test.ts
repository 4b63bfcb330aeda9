/** One exchange with servers that behave in every way but the right one, on real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Deadline } from '../../../src/store/deadline.ts'
import type { Incoming } from '../../../src/store/http-answer.ts'
import { Exchange } from '../../../src/store/s3-exchange.ts'
import type { LineLimits } from '../../../src/store/s3-line.ts'

const text = (value: string): Buffer => Buffer.from(value)
const rule = { attemptMs: 60_000, bytesPerSecondMin: 1e9 }

interface Rig {
  readonly put: (body: Uint8Array, deadline?: Deadline) => Promise<Incoming>
  readonly exchange: Exchange
}

/** A server that treats each connection as `serve` says, and a client of it. */
async function against(
  t: TestContext,
  serve: (socket: Socket) => void,
  { secure = false, ...limits }: Partial<LineLimits> & { readonly secure?: boolean } = {},
): Promise<Rig> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const { port } = address
  const to = { secure, hostname: '127.0.0.1', port }
  const exchange = new Exchange(to, { connectMs: 30_000, idleMs: 30_000, ...limits })
  t.after(() => {
    exchange.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const put: Rig['put'] = (body, deadline = new Deadline(rule)) => {
    const headers = { host: `127.0.0.1:${port}`, 'content-length': String(body.byteLength) }
    return exchange.put({ method: 'PUT', path: '/b/k', headers, body }, deadline)
  }
  return { put, exchange }
}

/** Answers each request, once its body of `bytes` is there. */
function answering(bytes: number, answer: string): (socket: Socket) => void {
  return (socket) => {
    let got = 0
    socket.on('data', (chunk) => {
      const head = chunk.indexOf('\r\n\r\n')
      got += head < 0 ? chunk.length : chunk.length - head - 4
      if (got < bytes) return
      got = 0
      socket.write(answer)
    })
  }
}

const ok = 'HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Length: 2\r\n\r\nhi'

test('s3 exchange: it settles when the socket is free for the next, which takes it', async (t) => {
  const opened: Socket[] = []
  const serve = answering(4, ok)
  const { put, exchange } = await against(t, (socket) => {
    opened.push(socket)
    serve(socket)
  })
  for (let i = 0; i < 3; i++) {
    const { status, headers, body } = await put(text('body'))
    assert.deepEqual([status, headers.etag, body], [200, '"e"', 'hi'])
    assert.deepEqual(exchange.lines, { all: 1, free: 1 })
  }
  assert.equal(opened.length, 1)
})

test('s3 exchange: after an early error the body is not sent on', async (t) => {
  const refusal = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nno, I'
  let got = 0
  let closed: Promise<unknown> | undefined
  const { put, exchange } = await against(t, (socket) => {
    closed = once(socket, 'close')
    socket.once('data', (chunk) => {
      got += chunk.length
      socket.pause().write(refusal)
      socket.on('data', (more) => {
        got += more.length
      })
      setImmediate(() => socket.resume())
    })
  })
  const body = Buffer.alloc(64 << 20)
  const { status, body: said } = await put(body)
  assert.deepEqual([status, said], [403, 'no, I'])
  assert.deepEqual(exchange.lines, { all: 0, free: 0 })
  await closed
  assert.ok(got < body.length, `${got} bytes were sent on`)
})

test('s3 exchange: a server that reads no more is given up as stalled', async (t) => {
  const { put } = await against(t, (socket) => socket.pause(), { idleMs: 200 })
  await assert.rejects(put(Buffer.alloc(64 << 20)), {
    name: 'TimeoutError',
    message: /a stall/,
  })
})

test('s3 exchange: one that takes the connection and speaks no TLS is given up', async (t) => {
  const { put } = await against(t, () => undefined, { secure: true, connectMs: 200 })
  await assert.rejects(put(text('x')), {
    name: 'TimeoutError',
    message: /connecting/,
  })
})

test('s3 exchange: answers that drip are cut by the deadline for the whole', async (t) => {
  const { put } = await against(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n')
    const drip = setInterval(() => socket.write('.'), 5)
    socket.on('close', () => clearInterval(drip))
  })
  const deadline = new Deadline({ ...rule, attemptMs: 300 })
  deadline.allowFor(0)
  await assert.rejects(deadline.settled(put(text('x'), deadline)), {
    name: 'TimeoutError',
    message: /the whole/,
  })
})

test('s3 exchange: given up before it began, nothing is sent', async (t) => {
  let heard = 0
  const { put } = await against(t, (socket) => socket.on('data', () => heard++))
  const passed = new Deadline(rule, AbortSignal.abort())
  await assert.rejects(put(text('x'), passed), { name: 'TimeoutError' })
  assert.equal(heard, 0)
})

test('s3 exchange: a kept-alive connection that closed meanwhile fails by its code', async (t) => {
  const serve = answering(4, ok)
  const sockets: Socket[] = []
  const { put } = await against(t, (socket) => {
    sockets.push(socket)
    serve(socket)
  })
  await put(text('body'))
  sockets[0]?.removeAllListeners('data').once('data', () => sockets[0]?.resetAndDestroy())
  await assert.rejects(put(text('body')), { code: 'ECONNRESET' })
  assert.equal((await put(text('body'))).status, 200)
})

test('s3 exchange: an answer cut in its middle is none; no HTTP has a code', async (t) => {
  const short = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'
  const cut = await against(t, (socket) => socket.once('data', () => socket.end(short)))
  await assert.rejects(cut.put(text('x')), { code: 'ECONNRESET' })
  const gibberish = await against(t, (socket) =>
    socket.once('data', () => socket.end('SSH-2.0\r\n')),
  )
  await assert.rejects(gibberish.put(text('x')), { code: 'ANSWER_NOT_HTTP' })
})

test('s3 exchange: a connection that the store will close soon is not used again', async (t) => {
  const says = (seconds: number) =>
    `HTTP/1.1 200 OK\r\nETag: "e"\r\nKeep-Alive: timeout=${seconds}\r\nContent-Length: 0\r\n\r\n`
  for (const [seconds, connections] of [
    [1, 3],
    [60, 1],
  ] as const) {
    let opened = 0
    const serve = answering(4, says(seconds))
    const { put, exchange } = await against(t, (socket) => {
      opened += 1
      serve(socket)
    })
    for (let i = 0; i < 3; i++) assert.equal((await put(text('body'))).status, 200)
    assert.equal(opened, connections)
    assert.deepEqual(exchange.lines, { all: 1, free: 1 })
  }
})

test('s3 exchange: a grant of what was not sent whole is none', async (t) => {
  const grant = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
  const { put } = await against(
    t,
    (socket) => socket.once('data', () => socket.pause().write(grant)),
    { idleMs: 200 },
  )
  await assert.rejects(put(Buffer.alloc(64 << 20)), { name: 'TimeoutError', message: /a stall/ })
})

test('s3 exchange: bytes that nobody has asked for end the connection', async (t) => {
  const sockets: Socket[] = []
  const serve = answering(4, ok)
  const { put, exchange } = await against(t, (socket) => {
    sockets.push(socket)
    serve(socket)
  })
  await put(text('body'))
  const closed = new Promise((resolve) => sockets[0]?.once('close', resolve))
  sockets[0]?.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n')
  await closed
  assert.deepEqual(exchange.lines, { all: 0, free: 0 })
  assert.equal((await put(text('body'))).status, 200)
})
