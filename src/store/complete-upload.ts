import { isFailure } from '../failure.ts'
import type { Acknowledgement, MultipartUpload, ObjectStore, PartRef } from './store.ts'

/**
 * Makes one object of the parts. A try whose answer was lost may have done so already: then there
 * is no such upload any more, and the object tells.
 *
 * @param whole  CRC-32 of the object, where it is known: a store that can compare it does
 */
export async function completeUpload(
  store: ObjectStore,
  upload: MultipartUpload,
  { parts, whole }: { readonly parts: readonly PartRef[]; readonly whole?: number },
): Promise<Acknowledgement> {
  try {
    return await upload.complete(parts, whole === undefined ? {} : { crc32: whole })
  } catch (error) {
    const found = isFailure(error, 'invalid') ? await store.head(upload.key) : undefined
    if (found?.size !== parts.reduce((sum, { size }) => sum + size, 0)) throw error
    return found
  }
}
