/** Bodies: bytes in memory, or a stretch of a file that is read anew at every attempt. */
import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { Failure, hasCode } from '../failure.ts'
import type { Body, FileBody } from './store.ts'

const CHUNK_BYTES = 1 << 20

export const bodyBytes = (body: Body): number =>
  body instanceof Uint8Array ? body.byteLength : body.length

/**
 * The body in pieces of at most 1 MiB, so that a file of any size passes through little memory.
 *
 * @throws Failure `corrupt`: the file is gone, or ends before the stretch does
 */
export async function* bodyChunks(body: Body): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) {
    for (let at = 0; at < body.byteLength; at += CHUNK_BYTES) {
      yield body.subarray(at, at + CHUNK_BYTES)
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
  if (body instanceof Uint8Array) return body
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
  const what = body instanceof Uint8Array ? 'body' : `file ${body.path}`
  throw new Failure('corrupt', `${what} has another CRC-32. want=${want}, found=${found}`, {
    remedy: 'Make it again: these bytes are not those that were written.',
  })
}

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
