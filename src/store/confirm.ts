/**
 * Whether what the store has taken is what was sent: a 200 alone proves nothing (measured: a server
 * that keeps half a body and answers 200 contents the SDK).
 */
import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { Failure, isFailure } from '../failure.ts'
import { bodyChunks } from './body.ts'
import type { Acknowledgement, Body, ObjectStore } from './store.ts'

const CHUNK_BYTES = 64 << 20

/** What proved that the store holds what was sent. */
export type Rung = 'checksum' | 'etag' | 'read-back'

/** To go after "confirmed". */
export const rungText: Readonly<Record<Rung, string>> = {
  checksum: 'by the CRC-32 that the store answers with',
  etag: 'by ETags, which are the MD5 of what was sent',
  'read-back': 'by reading each of them back',
}

/** What was sent: `crc32` and `size` (bytes) of the whole body. */
export interface Sent {
  readonly crc32: number
  readonly size: number
  readonly body: Body
}

/**
 * The first rung that proves it: the store's own CRC-32 equals ours; the ETag is the MD5 of what
 * was sent; the object, read back, has our CRC-32. An ETag that differs proves nothing: with
 * encryption or parts it is no MD5.
 *
 * @throws Failure `corrupt`: the store holds something else, or nothing. Put it again.
 */
export async function confirm(
  store: ObjectStore,
  key: string,
  ack: Acknowledgement,
  sent: Sent,
): Promise<Rung> {
  if (ack.crc32 !== undefined) {
    if (ack.crc32 !== sent.crc32) differs(key, { want: sent.crc32, found: ack.crc32 })
    return 'checksum'
  }
  if (ack.etag !== undefined && /^[0-9a-f]{32}$/i.test(ack.etag)) {
    const md5 = ack.sentMd5 ?? (await md5Of(sent.body))
    if (ack.etag.toLowerCase() === md5.toLowerCase()) return 'etag'
  }
  await readBack(store, key, sent)
  return 'read-back'
}

/** How a store's objects are proved. */
export interface Proof {
  readonly rung: Rung
  /**
   * It compares the CRC-32 that is sent with the body's own, and refuses another. Without that, one
   * that it answers with may be an echo, and proves nothing of a body that was not summed here.
   */
  readonly refuses: boolean
}

/**
 * How this store's objects are proved: tried on two of its own, which are removed.
 *
 * @throws Failure: the store takes no put, or keeps something else
 */
export async function probeConfirmation(store: ObjectStore): Promise<Proof> {
  const key = `probe/${randomUUID()}`
  const body = Buffer.from(key)
  const sent = { crc32: crc32(body), size: body.length, body }
  const said = await store.put(key, body, { crc32: sent.crc32 })
  try {
    const rung = await confirm(store, key, said, sent)
    return { rung, refuses: rung === 'checksum' && (await refusesOther(store, key, body)) }
  } finally {
    await store.remove(key)
  }
}

/**
 * Whether the store refuses a body that has not the CRC-32 that is sent with it, and keeps nothing
 * of it. What it takes is put beside `key`, and removed.
 *
 * @throws Failure `unavailable`: it does not tell now
 */
export async function refusesOther(
  store: ObjectStore,
  key: string,
  body: Buffer,
): Promise<boolean> {
  const wrong = `${key}-wrong`
  try {
    await store.put(wrong, body, { crc32: (crc32(body) ^ 1) >>> 0 })
  } catch (error) {
    if (!isFailure(error) || error.kind === 'unavailable') throw error
  }
  if ((await store.head(wrong)) === undefined) return true
  await store.remove(wrong)
  return false
}

/** Chunk after chunk until one is short: an object longer than what was sent is found out too. */
async function readBack(store: ObjectStore, key: string, sent: Sent): Promise<void> {
  let crc = 0
  let size = 0
  for (;;) {
    const chunk = await store.get(key, { start: size, end: size + CHUNK_BYTES })
    if (!chunk) differs(key, { want: `${sent.size} bytes`, found: 'no such object' })
    crc = crc32(chunk, crc)
    size += chunk.length
    if (chunk.length < CHUNK_BYTES) break
  }
  if (size !== sent.size) differs(key, { want: `${sent.size} bytes`, found: `${size} bytes` })
  if (crc !== sent.crc32) differs(key, { want: sent.crc32, found: crc })
}

function differs(
  key: string,
  values: { readonly want: number | string; readonly found: number | string },
): never {
  const { want, found } = values
  const message = `store holds not what was put. key=${key}, want=${want}, found=${found}`
  throw new Failure('corrupt', message, { remedy: 'Put it again.' })
}

async function md5Of(body: Body): Promise<string> {
  const hash = createHash('md5')
  for await (const chunk of bodyChunks(body)) hash.update(chunk)
  return hash.digest('hex')
}
