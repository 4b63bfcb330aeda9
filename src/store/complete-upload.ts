import { Failure, isFailure } from '../failure.ts'
import type { Acknowledgement, MultipartUpload, ObjectStore, PartRef } from './store.ts'

interface Joined {
  readonly parts: readonly PartRef[]
  /** CRC-32 of the object, where it is known: a store that can compare it does. */
  readonly whole?: number
}

/**
 * Makes one object of the parts. A try whose answer was lost may have done so already: then there
 * is no such upload any more, and the object tells.
 *
 * @throws  Failure, as the store throws it; where `whole` is given, `corrupt`: it holds other parts
 *          than were sent. Who knows no such sum proves the object otherwise.
 */
export async function completeUpload(
  store: ObjectStore,
  upload: MultipartUpload,
  { parts, whole }: Joined,
): Promise<Acknowledgement> {
  try {
    return await upload.complete(parts, whole === undefined ? {} : { crc32: whole })
  } catch (error) {
    if (!isFailure(error, 'invalid')) throw error
    const found = await store.head(upload.key)
    if (found?.size === parts.reduce((sum, { size }) => sum + size, 0)) return found
    if (whole !== undefined) await requireParts(upload, { parts, refused: error })
    throw error
  }
}

/**
 * A store that kept half of a part and granted it refuses the whole, and its code may say anything:
 * a part too small, a size that is not the one announced. So its own list is asked.
 */
async function requireParts(
  upload: MultipartUpload,
  { parts, refused }: { readonly parts: readonly PartRef[]; readonly refused: Failure },
): Promise<void> {
  const held = await partsOf(upload)
  if (!held) return
  const sizes = new Map(held.map(({ number, size }) => [number, size]))
  const other = parts.find(({ number, size }) => sizes.get(number) !== size)
  if (!other) return
  const { number, size } = other
  const facts = `key=${upload.key}, part=${number}, want=${size}, found=${sizes.get(number)}`
  throw new Failure('corrupt', `store holds another part than was sent, in bytes. ${facts}`, {
    remedy: 'Start the upload anew.',
    cause: refused,
  })
}

/** Undefined where there is no such upload, or it may not be listed. */
async function partsOf(upload: MultipartUpload): Promise<readonly PartRef[] | undefined> {
  try {
    return await upload.listParts()
  } catch (error) {
    if (isFailure(error, 'invalid')) return undefined
    throw error
  }
}
