/**
 * One answer of HTTP/1.1 as its bytes come, read as far as the answer to a put needs it. Node's
 * client does the same with a parser, a stream and a dozen listeners for each request: a fifth of
 * an upload's processor time (measured).
 *
 * @source  RFC 9112, sections 4 to 7
 */

import { ChunkedBody, noHttp } from './http-chunked.ts'

/** Of an answer's body; an error's XML is far shorter. */
const bodyBytesMax = 64 * 1024
/** Of its status and headers. */
const headBytesMax = 64 * 1024

export interface Incoming {
  readonly status: number
  /** By names in lower case; of a header that stands there twice, both values. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Cut to 64 KiB. */
  readonly body: string
}

/** How a body ends: after so many bytes, with its last chunk, or with the connection. */
type Ending = { left: number } | ChunkedBody | 'close'

export class AnswerReader {
  #head = ''
  #status = 0
  #headers: Record<string, string | undefined> = {}
  /** Undefined until the head is there. */
  #ending: Ending | undefined
  #isLast = false
  readonly #body: Buffer[] = []
  #bodyBytes = 0

  /**
   * @returns  how many of the bytes are of this answer, once it is whole; undefined: more are to
   *           come
   * @throws   an error with a code: this is not HTTP
   */
  take(bytes: Buffer): number | undefined {
    let from = 0
    while (!this.#ending) {
      const before = this.#head.length
      this.#head += bytes.toString('latin1', from)
      const end = this.#head.indexOf('\r\n\r\n', Math.max(0, before - 3))
      if (end < 0) {
        if (!this.#head.startsWith('HTTP/1.'.slice(0, this.#head.length))) throw noHttp('status')
        if (this.#head.length > headBytesMax) throw noHttp('head without an end')
        return undefined
      }
      from += end + 4 - before
      this.#understand(this.#head.slice(0, end))
      this.#head = ''
    }
    return this.#takeBody(bytes, from, this.#ending)
  }

  /** The connection has ended. @returns whether the answer is whole by that */
  end(): boolean {
    return this.#ending === 'close'
  }

  /** Once it is whole: whether the connection may serve another request. */
  get keepsAlive(): boolean {
    return this.#ending !== 'close' && !this.#isLast
  }

  get answer(): Incoming {
    const { length } = this.#body
    const body = length === 0 ? '' : Buffer.concat(this.#body).toString('utf8', 0, bodyBytesMax)
    return { status: this.#status, headers: this.#headers, body }
  }

  /** Status and headers; of an interim answer (100, 103) nothing is kept. */
  #understand(head: string): void {
    const [first = '', ...lines] = head.split('\r\n')
    const status = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first)
    if (!status) throw noHttp('status')
    this.#status = Number(status[2])
    if (this.#status < 200) return
    const headers: Record<string, string | undefined> = {}
    for (const line of lines) {
      const colon = line.indexOf(':')
      const name = line.slice(0, colon).toLowerCase()
      if (colon < 1 || /\s/.test(name)) throw noHttp('header')
      const value = line.slice(colon + 1).trim()
      const before = headers[name]
      headers[name] = before === undefined ? value : `${before}, ${value}`
    }
    this.#headers = headers
    const connection = headers.connection?.toLowerCase() ?? ''
    this.#isLast = status[1] === '0' || connection.includes('close')
    this.#ending = endingOf(this.#status, headers)
  }

  #takeBody(bytes: Buffer, from: number, ending: Ending): number | undefined {
    if (ending instanceof ChunkedBody) return ending.take(bytes, from, (part) => this.#keep(part))
    if (ending === 'close') {
      this.#keep(bytes.subarray(from))
      return undefined
    }
    const to = Math.min(bytes.length, from + ending.left)
    ending.left -= to - from
    this.#keep(bytes.subarray(from, to))
    return ending.left === 0 ? to : undefined
  }

  #keep(part: Buffer): void {
    if (part.length > 0 && this.#bodyBytes < bodyBytesMax) this.#body.push(part)
    this.#bodyBytes += part.length
  }
}

function endingOf(status: number, headers: Incoming['headers']): Ending {
  if (status === 204 || status === 304) return { left: 0 }
  const coding = headers['transfer-encoding']
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked') throw noHttp('transfer coding')
    return new ChunkedBody()
  }
  const length = headers['content-length']
  if (length === undefined) return 'close'
  // Told twice and alike, it is one: RFC 9110, section 8.6.
  const [first = '', ...others] = length.split(', ')
  if (!/^\d{1,15}$/.test(first) || others.some((other) => other !== first)) throw noHttp('length')
  return { left: Number(first) }
}
