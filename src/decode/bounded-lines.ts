/** A file's lines, none of which may be longer than memory can hold. */
import type { FileHandle } from 'node:fs/promises'

const newline = 0x0a

/**
 * Each without its end, `\n` or `\r\n`; what stands behind the last one is a line too.
 *
 * @param bytesMax  of a line
 * @param tooLong   what is thrown for a longer one. Given its number, from 1
 */
export async function* boundedLines(
  file: FileHandle,
  bytesMax: number,
  tooLong: (line: number) => Error,
): AsyncGenerator<string> {
  let [line, length] = [1, 0]
  let pieces: Buffer[] = []
  const take = (piece: Buffer): void => {
    length += piece.length
    if (length > bytesMax) throw tooLong(line)
    pieces.push(piece)
  }
  const end = (): string => {
    const text = Buffer.concat(pieces).toString('utf8')
    pieces = []
    length = 0
    line++
    return text.endsWith('\r') ? text.slice(0, -1) : text
  }
  for await (const chunk of file.createReadStream({ autoClose: false })) {
    const bytes = Buffer.from(chunk)
    let start = 0
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, start)) {
      take(bytes.subarray(start, at))
      yield end()
      start = at + 1
    }
    take(bytes.subarray(start))
  }
  if (length > 0) yield end()
}
