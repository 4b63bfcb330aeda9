import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerReader } from '../../../src/store/http-answer.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** All of it at once, and byte by byte: the same answer. */
function read(text: string) {
  const whole = new AnswerReader()
  const end = whole.take(bytes(text))
  const slow = new AnswerReader()
  let taken = 0
  for (const byte of bytes(text)) {
    taken += 1
    if (slow.take(Buffer.from([byte])) !== undefined) break
  }
  if (end !== undefined) {
    assert.equal(taken, end, 'it ends at the same byte')
    assert.deepEqual(slow.answer, whole.answer)
  }
  return { end, reader: whole, ...whole.answer }
}

test('http answer: status, headers and a body of the length that is told', () => {
  const text = 'HTTP/1.1 200 OK\r\nETag: "e"\r\nX-Two:a\r\nx-two: b\r\ncontent-length: 2\r\n\r\nhi'
  const { end, status, headers, body, reader } = read(`${text}left over`)
  assert.equal(end, text.length)
  assert.deepEqual([status, body, reader.keepsAlive], [200, 'hi', true])
  assert.deepEqual(headers, { etag: '"e"', 'x-two': 'a, b', 'content-length': '2' })
})

test('http answer: without a body it ends with its head; interim answers are passed over', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
  assert.equal(read(head).end, head.length)
  const before = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n'
  const { end, status, headers } = read(before + head)
  assert.deepEqual([end, status], [before.length + head.length, 200])
  assert.equal(headers.link, undefined)
  assert.equal(read('HTTP/1.1 204 No Content\r\n\r\n').body, '')
})

test('http answer: a body in chunks, with extensions and a trailer', () => {
  const head = 'HTTP/1.1 503 Slow\r\nTransfer-Encoding: Chunked\r\n\r\n'
  const text = `${head}5\r\n<Err>\r\nA ; x=y\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n`
  const { end, body, status } = read(`${text}HTTP`)
  assert.deepEqual([end, status, body], [text.length, 503, '<Err>0123456789'])
  assert.equal(read(`${head}5\r\n<Er`).end, undefined)
})

test('http answer: without a length it lasts as long as the connection, and that ends', () => {
  const { end, reader, body } = read('HTTP/1.1 200 OK\r\n\r\nall there is')
  assert.deepEqual(
    [end, body, reader.end(), reader.keepsAlive],
    [undefined, 'all there is', true, false],
  )
  const short = new AnswerReader()
  assert.equal(short.take(bytes('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')), undefined)
  assert.equal(short.end(), false)
})

test('http answer: who says that it closes, or speaks an older version, is not used again', () => {
  const of = (first: string, more: string) =>
    read(`${first} 200 OK\r\nContent-Length: 0\r\n${more}\r\n`).reader.keepsAlive
  assert.equal(of('HTTP/1.1', ''), true)
  assert.equal(of('HTTP/1.1', 'Connection: Close\r\n'), false)
  assert.equal(of('HTTP/1.0', ''), false)
})

test('http answer: a long body is read to its end, and kept to 64 KiB', () => {
  const { end, body } = read(
    `HTTP/1.1 500 X\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`,
  )
  assert.ok(end !== undefined && end > 200_000)
  assert.equal(body.length, 64 * 1024)
})

test('http answer: what is no HTTP is refused by code, however it comes', () => {
  const head = 'HTTP/1.1 200 OK\r\n'
  const strange = [
    'SSH-2.0\r\n',
    'HTTP/2 200\r\n\r\n',
    'HTTP/1.1 OK\r\n\r\n',
    `${head}no colon\r\n\r\n`,
    `${head} folded: x\r\n\r\n`,
    `${head}space : x\r\n\r\n`,
    `${head}Content-Length: -1\r\n\r\n`,
    `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    `${head}Transfer-Encoding: gzip\r\n\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\n${'0'.repeat(20_000)}`,
    `${head}${'a: b\r\n'.repeat(20_000)}`,
  ]
  for (const text of strange) {
    assert.throws(() => new AnswerReader().take(bytes(text)), { code: 'ANSWER_NOT_HTTP' }, text)
    assert.throws(
      () => {
        const reader = new AnswerReader()
        for (const byte of bytes(text)) reader.take(Buffer.from([byte]))
      },
      { code: 'ANSWER_NOT_HTTP' },
    )
  }
})
