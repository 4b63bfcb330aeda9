/** Bodies: bytes in memory, whole or in pieces, or a stretch of a file, read at each attempt. */
import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { Failure, hasCode } from '../failure.ts'
import type { Body, FileBody, PiecesBody } from './store.ts'

const CHUNK_BYTES = 1 << 20

export const bodyBytes = (body: Body): number =>
  body instanceof Uint8Array ? body.byteLength : body.length

/** Bytes [start, end) of a body; nothing is read or copied. */
export function stretchOfBody(
  body: FileBody | PiecesBody,
  { start, end }: { readonly start: number; readonly end: number },
): FileBody | PiecesBody {
  const length = end - start
  if ('path' in body) return { path: body.path, offset: body.offset + start, length }
  const pieces: Uint8Array[] = []
  let at = 0
  for (const piece of body.pieces) {
    const cut = piece.subarray(Math.max(0, start - at), Math.max(0, end - at))
    if (cut.byteLength > 0) pieces.push(cut)
    at += piece.byteLength
  }
  return { pieces, length }
}

/**
 * The body in pieces of at most 1 MiB, so that a file of any size passes through little memory.
 *
 * @throws Failure `corrupt`: the file is gone, or ends before the stretch does
 */
export async function* bodyChunks(body: Body): AsyncGenerator<Uint8Array> {
  if (!('path' in body)) {
    for (const piece of piecesOf(body)) {
      for (let at = 0; at < piece.byteLength; at += CHUNK_BYTES) {
        yield piece.subarray(at, at + CHUNK_BYTES)
      }
    }
    return
  }
  const file = await openBody(body)
  try {
    for (let at = 0; at < body.length; at += CHUNK_BYTES) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, body.length - at))
      await fill(file, chunk, { body, at })
      yield chunk
    }
  } finally {
    await file.close()
  }
}

/**
 * The whole body in memory.
 *
 * @throws Failure `corrupt`: as `bodyChunks`, and where the bytes do not have the CRC-32 `crc`
 */
export async function readBody(body: Body, crc?: number): Promise<Uint8Array> {
  if (!('path' in body)) return joined(piecesOf(body))
  const file = await openBody(body)
  try {
    const bytes = Buffer.allocUnsafe(body.length)
    await fill(file, bytes, { body, at: 0 })
    if (crc !== undefined) checkCrc(crc, crc32(bytes), body)
    return bytes
  } finally {
    await file.close()
  }
}

/** Throws Failure `corrupt` where the two differ. */
export function checkCrc(want: number, found: number, body: Body): void {
  if (want === found) return
  const what = 'path' in body ? `file ${body.path}` : 'body'
  throw new Failure('corrupt', `${what} has another CRC-32. want=${want}, found=${found}`, {
    remedy: 'Make it again: these bytes are not those that were written.',
  })
}

const piecesOf = (body: Uint8Array | PiecesBody): readonly Uint8Array[] =>
  body instanceof Uint8Array ? [body] : body.pieces

/** A copy only where there is more than one. */
const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)

async function openBody(body: FileBody): Promise<FileHandle> {
  try {
    return await open(body.path)
  } catch (cause) {
    const kind = hasCode(cause, 'EMFILE', 'ENFILE') ? 'unavailable' : 'corrupt'
    throw new Failure(kind, `file to be stored cannot be opened. path=${body.path}`, { cause })
  }
}

async function fill(
  file: FileHandle,
  into: Buffer,
  from: { readonly body: FileBody; readonly at: number },
): Promise<void> {
  let done = 0
  while (done < into.length) {
    const position = from.body.offset + from.at + done
    const { bytesRead } = await file.read(into, done, into.length - done, position)
    if (bytesRead === 0) {
      const want = from.body.offset + from.body.length
      const facts = `path=${from.body.path}, want=${want}, found=${position}`
      throw new Failure('corrupt', `file to be stored is shorter than its ref. ${facts}`)
    }
    done += bytesRead
  }
}
