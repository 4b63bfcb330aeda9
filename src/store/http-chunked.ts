/** A body in chunks, as its bytes come. @source RFC 9112, section 7.1 */

/** Of a chunk's size with its extensions, and of a trailer's line. */
const lineBytesMax = 16 * 1024

/** Of whoever answers otherwise. */
export const noHttp = (what: string): Error =>
  Object.assign(new Error(`the answer is not HTTP/1.1: ${what}`), { code: 'ANSWER_NOT_HTTP' })

type At = 'size' | 'data' | 'after data' | 'trailer' | 'end'

export class ChunkedBody {
  #at: At = 'size'
  #line = ''
  /** Bytes of the chunk that are still to come. */
  #left = 0

  /**
   * @param found  called with each stretch of the body
   * @returns      where the body ends among the bytes; undefined: not here
   * @throws       an error with a code: these are no chunks
   */
  take(bytes: Buffer, from: number, found: (part: Buffer) => void): number | undefined {
    let at = from
    while (at < bytes.length && this.#at !== 'end') {
      if (this.#at === 'data') {
        const to = Math.min(bytes.length, at + this.#left)
        found(bytes.subarray(at, to))
        this.#left -= to - at
        if (this.#left === 0) this.#at = 'after data'
        at = to
      } else at = this.#takeLine(bytes, at)
    }
    return this.#at === 'end' ? at : undefined
  }

  #takeLine(bytes: Buffer, from: number): number {
    const end = bytes.indexOf('\n', from)
    const to = end < 0 ? bytes.length : end + 1
    this.#line += bytes.toString('latin1', from, to)
    if (this.#line.length > lineBytesMax) throw noHttp('chunk')
    if (end < 0) return to
    const line = this.#line.trimEnd()
    this.#line = ''
    this.#at = this.#afterLine(line)
    return to
  }

  #afterLine(line: string): At {
    if (this.#at === 'size') {
      const size = /^([0-9a-f]{1,12})(?:[ \t]*;|$)/i.exec(line)
      if (!size) throw noHttp('chunk')
      this.#left = Number.parseInt(size[1] ?? '', 16)
      return this.#left === 0 ? 'trailer' : 'data'
    }
    if (this.#at === 'trailer') return line === '' ? 'end' : 'trailer'
    if (line !== '') throw noHttp('chunk')
    return 'size'
  }
}
