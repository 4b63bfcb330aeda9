/** Uploads in parts that a process left open: which of them a file can go on with. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { isFailure } from '../failure.ts'
import { readBody, stretchOfBody } from './body.ts'
import type { FileBody, MultipartUpload, ObjectStore, PartRef, PiecesBody } from './store.ts'

/** How a file is cut: parts 1 to `count` of `partBytes` each, the last of what is left. */
export interface PartLayout {
  readonly body: FileBody | PiecesBody
  readonly partBytes: number
  readonly count: number
  readonly signal: AbortSignal | undefined
}

export interface OpenUpload {
  readonly upload: MultipartUpload
  readonly parts: readonly PartRef[]
}

/** The part of the file with this number. */
export function stretchOf({ body, partBytes }: PartLayout, number: number): FileBody | PiecesBody {
  const start = (number - 1) * partBytes
  return stretchOfBody(body, { start, end: Math.min(start + partBytes, body.length) })
}

/**
 * The first open upload of the key all of whose parts are stretches of the file; every other of
 * this key is aborted. Reads those stretches, one at a time.
 */
export async function uploadOf(
  store: ObjectStore,
  key: string,
  layout: PartLayout,
): Promise<OpenUpload | undefined> {
  let found: OpenUpload | undefined
  for (const upload of await openUploads(store, key)) {
    if (upload.key !== key) continue
    const parts = found ? undefined : await fittingParts(upload, layout)
    if (parts) found = { upload, parts }
    else await upload.abort()
  }
  return found
}

/**
 * Aborts what was left open under a prefix: nobody else completes it.
 *
 * @param before  only what began earlier, in milliseconds since the epoch
 * @returns       the keys
 */
export async function abortUploads(
  store: ObjectStore,
  prefix: string,
  before = Number.POSITIVE_INFINITY,
): Promise<readonly string[]> {
  const aborted: string[] = []
  for (const upload of await openUploads(store, prefix)) {
    if ((upload.startedAt ?? 0) >= before) continue
    await upload.abort()
    aborted.push(upload.key)
  }
  return aborted
}

/**
 * Aborts uploads of the key that have no part: of one whose beginning was answered to nobody, only
 * the store knows. What cannot be done now, the next start does.
 */
export async function abortUnheard(store: ObjectStore, key: string): Promise<void> {
  try {
    for (const upload of await openUploads(store, key)) {
      const isUnheard = upload.key === key && (await upload.listParts()).length === 0
      if (isUnheard) await upload.abort()
    }
  } catch (error) {
    if (!isFailure(error)) throw error
  }
}

/** None where they may not be listed, which many a policy forgets: `check` tells of that. */
export async function openUploads(
  store: ObjectStore,
  prefix: string,
): Promise<readonly MultipartUpload[]> {
  try {
    return await store.openMultiparts(prefix)
  } catch (error) {
    if (isFailure(error, 'invalid')) return []
    throw error
  }
}

/** Undefined where one of them is something else, or the store tells too little of them. */
async function fittingParts(
  upload: MultipartUpload,
  layout: PartLayout,
): Promise<readonly PartRef[] | undefined> {
  try {
    const parts = await upload.listParts()
    for (const part of parts) {
      if (layout.signal?.aborted || !(await isStretch(part, layout))) return undefined
    }
    return parts
  } catch (error) {
    // It ended meanwhile, or its parts may not be listed.
    if (isFailure(error, 'invalid')) return undefined
    throw error
  }
}

async function isStretch(part: PartRef, layout: PartLayout): Promise<boolean> {
  if (part.number > layout.count) return false
  const stretch = stretchOf(layout, part.number)
  if (stretch.length !== part.size) return false
  const bytes = await readBody(stretch)
  if (part.crc32 !== undefined) return part.crc32 === crc32(bytes)
  return part.etag.toLowerCase() === createHash('md5').update(bytes).digest('hex')
}
