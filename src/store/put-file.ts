/** A file of any size as one object: whole where it is small, else in equal parts. */
import type { Acknowledgement, FileBody, ObjectStore, PartRef } from './store.ts'

/** Up to here one put will do. */
const wholeBytesMax = 64 * 2 ** 20
const partBytesMin = 16 * 2 ** 20
/** S3 takes 10,000 parts. */
const partsMax = 9000
const partsAtOnce = 4

/**
 * Parts are of one size, all but the last, as R2 demands. An upload of this key that an earlier
 * start left open is aborted first: its parts are paid for, and nobody completes it.
 *
 * @param crc32  of the file
 */
export async function putFile(
  store: ObjectStore,
  key: string,
  body: FileBody,
  crc32: number,
): Promise<Acknowledgement> {
  if (body.length <= wholeBytesMax) return await store.put(key, body, { crc32 })
  for (const orphan of await store.openMultiparts(key)) if (orphan.key === key) await orphan.abort()
  const partBytes = Math.max(partBytesMin, Math.ceil(body.length / partsMax))
  const upload = await store.startMultipart(key)
  try {
    const count = Math.ceil(body.length / partBytes)
    const parts: PartRef[] = []
    let next = 0
    const worker = async () => {
      for (let i = next++; i < count; i = next++) {
        const offset = body.offset + i * partBytes
        const length = Math.min(partBytes, body.offset + body.length - offset)
        parts[i] = await upload.putPart(i + 1, { path: body.path, offset, length })
      }
    }
    await Promise.all(Array.from({ length: partsAtOnce }, worker))
    return await upload.complete(parts)
  } catch (error) {
    await upload.abort().catch(() => undefined)
    throw error
  }
}
