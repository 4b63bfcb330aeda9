import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const readBytes = 64 * 1024

/** Whole lines of a file that grows, each once. */
export class LogTail {
  readonly #fd: number
  #at: number
  #rest = ''

  /** @param lastBytes  so far before the end it begins, with a whole line; absent: at the start */
  constructor(file: string, lastBytes = Number.POSITIVE_INFINITY) {
    this.#fd = openSync(file, 'r')
    this.#at = Math.max(0, fstatSync(this.#fd).size - lastBytes)
    if (this.#at > 0) this.#skipPart()
  }

  read(): string[] {
    const size = fstatSync(this.#fd).size
    let text = this.#rest
    while (this.#at < size) {
      const buffer = Buffer.alloc(Math.min(readBytes, size - this.#at))
      const read = readSync(this.#fd, buffer, 0, buffer.length, this.#at)
      if (read === 0) break
      this.#at += read
      text += buffer.toString('utf8', 0, read)
    }
    const end = text.lastIndexOf('\n') + 1
    this.#rest = text.slice(end)
    return text
      .slice(0, end)
      .split('\n')
      .filter((line) => line !== '')
  }

  close(): void {
    closeSync(this.#fd)
  }

  /** What stands there before the next line's beginning is a part of one. */
  #skipPart(): void {
    const buffer = Buffer.alloc(readBytes)
    const read = readSync(this.#fd, buffer, 0, buffer.length, this.#at)
    const end = buffer.subarray(0, read).indexOf('\n')
    this.#at += end < 0 ? read : end + 1
  }
}
