import { crc32 } from 'node:zlib'
import { isFailure } from '../../src/failure.ts'
import type { MultipartUpload, ObjectStore } from '../../src/store/store.ts'
import type { Seen } from './findings.ts'

/** Whether the store takes large files as a run sends them: in parts, of 15 MiB in all here. */

const partBytes = 5 * 2 ** 20
const zeros = Buffer.alloc(partBytes + 1)
const equalParts = [zeros.subarray(1), zeros.subarray(0, 1)]
/** As R2 refuses them. A run sends none such. */
const unequalParts = [zeros.subarray(1), zeros, zeros.subarray(0, 1)]

const orphansRemedy =
  'Allow s3:ListBucketMultipartUploads and s3:ListMultipartUploadParts, or have the bucket abort ' +
  'incomplete uploads after some days: their parts cost, and nobody sees them.'

/**
 * @throws Failure: it takes no uploads in parts
 */
export async function tryParts(store: ObjectStore, key: string): Promise<Seen<null>> {
  const resumes = await canResume(store, key)
  const anySize = await putInParts(store, key, unequalParts).catch(unlessRefused)
  const { whole } = anySize ?? (await putInParts(store, key, equalParts))
  const sizes = anySize ? 'in parts of any size' : 'in parts of equal size, which a run sends'
  const confirmed = whole ? 'with the CRC-32 of the whole' : 'read back to confirm them'
  const found = `takes them ${sizes}, ${confirmed}`
  if (resumes) return [`${found}; goes on with uploads that were cut short`, null]
  return [`${found}; does not list uploads that were cut short`, null, orphansRemedy]
}

/** Whether an upload that was left open is found with its parts; it is aborted. */
async function canResume(store: ObjectStore, key: string): Promise<boolean> {
  const begun = await store.startMultipart(key)
  try {
    await begun.putPart(1, zeros.subarray(0, 1))
    const open = await store.openMultiparts(key)
    const found = open.find(({ id }) => id === begun.id)
    return ((await found?.listParts()) ?? []).length === 1
  } catch (error) {
    return unlessRefused(error) ?? false
  } finally {
    await begun.abort()
  }
}

async function putInParts(
  store: ObjectStore,
  key: string,
  parts: readonly Buffer[],
): Promise<{ readonly whole: boolean }> {
  const want = parts.reduce((crc, part) => crc32(part, crc), 0)
  const upload: MultipartUpload = await store.startMultipart(key)
  try {
    const refs = []
    for (const [i, part] of parts.entries()) refs.push(await upload.putPart(i + 1, part))
    const said = await upload.complete(refs, { crc32: want })
    return { whole: said.crc32 === want }
  } finally {
    await upload.abort()
  }
}

function unlessRefused(error: unknown): undefined {
  if (!isFailure(error, 'invalid')) throw error
  return undefined
}
