/** A file of any size as one object: whole where it is small, else in equal parts. */
import type { Acknowledgement, FileBody, MultipartUpload, ObjectStore, PartRef } from './store.ts'

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
  const upload = await store.startMultipart(key)
  try {
    return await upload.complete(await putParts(upload, body))
  } catch (error) {
    await upload.abort().catch(() => undefined)
    throw error
  }
}

/** Settles only when no part is under way: one that comes after the abort would be paid for. */
async function putParts(upload: MultipartUpload, body: FileBody): Promise<PartRef[]> {
  const partBytes = Math.max(partBytesMin, Math.ceil(body.length / partsMax))
  const count = Math.ceil(body.length / partBytes)
  const parts: PartRef[] = []
  const failures: unknown[] = []
  let next = 0
  const sendInTurn = async () => {
    for (let i = next++; i < count && failures.length === 0; i = next++) {
      const offset = body.offset + i * partBytes
      const length = Math.min(partBytes, body.length - i * partBytes)
      parts[i] = await upload.putPart(i + 1, { path: body.path, offset, length })
    }
  }
  const noted = () => sendInTurn().catch((error: unknown) => failures.push(error))
  await Promise.all(Array.from({ length: partsAtOnce }, noted))
  if (failures.length > 0) throw failures[0]
  return parts
}
