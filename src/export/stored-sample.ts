import { crc32 } from 'node:zlib'
import { entryKey, type ManifestEntry } from '../manifest/entry.ts'
import type { ObjectStore } from '../store/store.ts'

/** A stored sample, read whole into memory, and proved to be the one that was stored. */

/** Asked for in one request. */
const pieceBytes = 8 << 20

/** An object is not what the manifest says: others may still be. */
export class Differing extends Error {}

/**
 * The sample's file, in memory of its own.
 *
 * @throws  Differing: the object is gone, cut, or has other bytes; Failure as the store throws it
 */
export async function readSample(
  store: Pick<ObjectStore, 'get'>,
  entry: ManifestEntry,
): Promise<Uint8Array> {
  try {
    return await readOnce(store, entry)
  } catch (error) {
    if (!(error instanceof Differing)) throw error
    // What arrives damaged once may have been the line.
    return await readOnce(store, entry)
  }
}

async function readOnce(
  store: Pick<ObjectStore, 'get'>,
  entry: ManifestEntry,
): Promise<Uint8Array> {
  const { length, offset } = entry
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; at += pieceBytes) {
    const [start, end] = [offset + at, offset + Math.min(length, at + pieceBytes)]
    const piece = await store.get(entryKey(entry), { start, end })
    if (!piece) throw new Differing('is not there')
    if (piece.length !== end - start) {
      throw new Differing(`size: want=${end}, found=${start + piece.length}`)
    }
    bytes.set(piece, at)
  }
  const found = crc32(bytes)
  if (found === entry.crc32) return bytes
  throw new Differing(`crc32: want=${entry.crc32}, found=${found}`)
}
