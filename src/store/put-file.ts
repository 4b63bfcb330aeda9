/**
 * A file of any size, on disk or in memory, as one confirmed object: whole where it is small, else
 * in equal parts, as R2 demands them. An upload that a dead process left is gone on with; one that
 * fails is aborted, for its parts are paid for and seen by nobody.
 */
import { isFailure } from '../failure.ts'
import { probe } from '../probe.ts'
import { completeUpload } from './complete-upload.ts'
import { confirm, type Rung } from './confirm.ts'
import { abortUnheard, type PartLayout, stretchOf, uploadOf } from './open-upload.ts'
import { putConfirmed, sentAgain } from './put-confirmed.ts'
import type { FileBody, MultipartUpload, ObjectStore, PartRef, PiecesBody } from './store.ts'

/** What is put, and where. */
export interface FileToPut {
  readonly key: string
  readonly body: FileBody | PiecesBody
  /** CRC-32 of the body. */
  readonly crc32: number
}

/** In bytes; S3 takes parts of 5 MiB and more. */
export interface PartSizes {
  /** Up to here one put will do. */
  readonly wholeBytesMax: number
  readonly partBytes: number
}

/**
 * Parts in flight lie in memory: 64 MiB of them, or one whole file of that size. Only files beyond
 * 151 GB have larger parts.
 */
const usualSizes: PartSizes = { wholeBytesMax: 64 * 2 ** 20, partBytes: 16 * 2 ** 20 }
const partsAtOnce = 4
/** S3 takes 10,000. */
const partsMax = 9000
/**
 * @returns  what proved that the store holds the file
 * @throws   Failure, as the store throws it; `corrupt` too where the file changes meanwhile. The
 *           signal's reason where it is aborted: after the upload is.
 */
export async function putFile(
  store: ObjectStore,
  file: FileToPut,
  options: { readonly sizes?: PartSizes; readonly signal?: AbortSignal | undefined } = {},
): Promise<Rung> {
  const { sizes = usualSizes, signal } = options
  if (file.body.length <= sizes.wholeBytesMax) {
    return await putConfirmed(store, file.key, { ...sentBy(file), signal })
  }
  return await sentAgain(() => putInParts(store, file, { partBytes: sizes.partBytes, signal }))
}

interface InParts {
  readonly partBytes: number
  readonly signal: AbortSignal | undefined
}

async function putInParts(store: ObjectStore, file: FileToPut, how: InParts): Promise<Rung> {
  const { body, key } = file
  const partBytes = Math.max(how.partBytes, Math.ceil(body.length / partsMax))
  const layout = { body, partBytes, count: Math.ceil(body.length / partBytes), signal: how.signal }
  const found = await uploadOf(store, key, layout)
  if (found) {
    try {
      return await finish(store, file, { ...found, layout })
    } catch (error) {
      // Another process may have ended it, or its parts are not what the store listed.
      if (!isFailure(error, 'invalid') && !isFailure(error, 'corrupt')) throw error
    }
  }
  how.signal?.throwIfAborted()
  const upload = await store.startMultipart(key)
  const rung = await finish(store, file, { upload, parts: [], layout })
  await abortUnheard(store, key)
  return rung
}

interface Begun {
  readonly upload: MultipartUpload
  /** Those that the store holds. */
  readonly parts: readonly PartRef[]
  readonly layout: PartLayout
}

async function finish(store: ObjectStore, file: FileToPut, begun: Begun): Promise<Rung> {
  try {
    const parts = await putMissing(begun)
    begun.layout.signal?.throwIfAborted()
    const said = await completeUpload(store, begun.upload, { parts, whole: file.crc32 })
    return await confirm(store, file.key, said, sentBy(file))
  } catch (error) {
    await begun.upload.abort().catch(() => undefined)
    throw error
  }
}

/** Settles only when no part is under way: one that comes after the abort would be paid for. */
async function putMissing({ upload, parts: held, layout }: Begun): Promise<PartRef[]> {
  const parts = new Map(held.map((part) => [part.number, part]))
  const numbers = Array.from({ length: layout.count }, (_, i) => i + 1)
  const missing = numbers.filter((number) => !parts.has(number)).values()
  const failures: unknown[] = []
  const options = layout.signal ? { signal: layout.signal } : {}
  const sendInTurn = async () => {
    for (const number of missing) {
      if (failures.length > 0) return
      parts.set(number, await upload.putPart(number, stretchOf(layout, number), options))
      probe('store.part-put')
    }
  }
  const noted = () => sendInTurn().catch((error: unknown) => failures.push(error))
  await Promise.all(Array.from({ length: partsAtOnce }, noted))
  if (failures.length > 0) throw failures[0]
  return [...parts.values()].sort((a, b) => a.number - b.number)
}

const sentBy = ({ body, crc32 }: FileToPut) => ({ body, crc32, size: body.length })
