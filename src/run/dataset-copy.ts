/** The dataset's copy in the store: its files as they are, and an index that is written last. */
import { open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import type { DatasetFile } from '../dataset/rows.ts'
import { eachOf } from '../each-of.ts'
import { Failure, isFailure } from '../failure.ts'
import { confirm, type Rung } from '../store/confirm.ts'
import { putBytes } from '../store/put-confirmed.ts'
import { type FileToPut, type PartSizes, putFile } from '../store/put-file.ts'
import type { ObjectInfo, ObjectStore } from '../store/store.ts'

const indexKey = 'dataset/index.json'
const chunkBytes = 16 * 2 ** 20
const headsAtOnce = 8

const indexSchema = z.object({
  format: z.literal(1),
  /** Of `datasetFingerprint`: the same rows in the same order. */
  fingerprint: z.string(),
  /** What to open below the copy: `.`, or the name of the one file. */
  entry: z.string(),
  files: z.array(
    z.object({ path: z.string(), bytes: z.number().int().nonnegative(), crc32: z.number().int() }),
  ),
})

export type DatasetIndex = z.output<typeof indexSchema>

export interface DatasetCopy {
  readonly fingerprint: string
  readonly entry: string
  readonly files: readonly DatasetFile[]
}

export interface PublishOptions {
  readonly progress: (done: {
    readonly path: string
    readonly bytes: number
    /** What proved that the store holds the file. */
    readonly confirmedBy: Rung
  }) => void
  /** Aborted, it ends with the signal's reason, and with no upload open. */
  readonly signal?: AbortSignal | undefined
  /** Absent: those that suit a store far away. */
  readonly sizes?: PartSizes
}

/**
 * Puts the dataset into the store, where it is not there yet, or no longer whole. Files that are
 * there are not sent again; the index comes last, so that a copy with an index is complete.
 *
 * @returns  true where something was sent
 */
export async function publishDataset(
  store: ObjectStore,
  dataset: DatasetCopy,
  options: PublishOptions,
): Promise<boolean> {
  const before = await indexBefore(store)
  if (before !== 'none') {
    const isSame = before !== 'damaged' && before.fingerprint === dataset.fingerprint
    if (isSame && (await isWhole(store, before))) return false
    // Its files are about to be replaced one by one: meanwhile no index may vouch for them.
    await store.remove(indexKey)
  }
  const files: DatasetIndex['files'] = []
  for (const file of dataset.files) {
    const { path, relative, bytes } = file
    const crc = await fileCrc32(path, options.signal)
    files.push({ path: relative, bytes, crc32: crc })
    const body = { path, offset: 0, length: bytes }
    const sent = { key: `dataset/${relative}`, body, crc32: crc }
    const there = await provenBy(await store.head(sent.key), store, sent)
    const confirmedBy = there ?? (await putFile(store, sent, options))
    options.progress({ path: relative, bytes, confirmedBy })
  }
  const { fingerprint, entry } = dataset
  const index: DatasetIndex = { format: 1, fingerprint, entry, files }
  await putBytes(store, indexKey, Buffer.from(`${JSON.stringify(index, null, 2)}\n`))
  return true
}

/** One that is damaged is put anew, which mends it. */
async function indexBefore(store: ObjectStore): Promise<DatasetIndex | 'damaged' | 'none'> {
  try {
    return (await storedDataset(store)) ?? 'none'
  } catch (error) {
    if (isFailure(error, 'corrupt')) return 'damaged'
    throw error
  }
}

/** As far as the store tells without giving the files: what it says of them costs little. */
async function isWhole(store: ObjectStore, { files }: DatasetIndex): Promise<boolean> {
  let whole = true
  await eachOf(files, headsAtOnce, async (file) => {
    const found = whole ? await store.head(`dataset/${file.path}`) : undefined
    if (found?.size !== file.bytes || (found.crc32 ?? file.crc32) !== file.crc32) whole = false
  })
  return whole
}

/** Undefined where the store holds no such file. To read it back costs less than to send it. */
async function provenBy(
  found: ObjectInfo | undefined,
  store: ObjectStore,
  { key, body, crc32 }: FileToPut,
): Promise<Rung | undefined> {
  const size = body.length
  if (found?.size !== size) return undefined
  try {
    return await confirm(store, key, found, { crc32, size, body })
  } catch (error) {
    if (isFailure(error, 'corrupt')) return undefined
    throw error
  }
}

/** Undefined: its upload was not finished. @throws Failure `corrupt`: it cannot be read */
export async function storedDataset(store: ObjectStore): Promise<DatasetIndex | undefined> {
  const bytes = await store.get(indexKey)
  if (!bytes) return undefined
  try {
    const index = indexSchema.parse(JSON.parse(bytes.toString('utf8')))
    for (const { path } of index.files) requireBelow(path)
    requireBelow(index.entry)
    return index
  } catch (cause) {
    throw new Failure(
      'corrupt',
      `the dataset's index cannot be read. store=${store.url}, key=${indexKey}`,
      {
        cause,
        remedy: 'Restore it, or run again on a machine that has the dataset.',
      },
    )
  }
}

/** @throws Failure `invalid`: the store holds no dataset; `corrupt`: it cannot be read */
export async function requireDataset(store: ObjectStore): Promise<DatasetIndex> {
  const index = await storedDataset(store)
  if (index) return index
  throw new Failure('invalid', `the store holds no dataset. store=${store.url}`, {
    remedy: 'The run was stopped before its dataset was uploaded: run it once more where it began.',
  })
}

/** What a store says is never trusted to stay below the folder it is written to. */
function requireBelow(path: string): void {
  const parts = path.split('/')
  const climbs = parts.some(
    (part) => part === '..' || part === '' || part.includes('\\') || part.includes('\0'),
  )
  if (climbs || path.startsWith('/')) throw new Error(`a path leaves its folder. path=${path}`)
}

/** CRC-32 of a whole file. @throws the signal's reason, once it is aborted */
export async function fileCrc32(path: string, signal?: AbortSignal): Promise<number> {
  await using file = await open(path)
  const buffer = Buffer.alloc(chunkBytes)
  let crc = 0
  for (;;) {
    signal?.throwIfAborted()
    const { bytesRead } = await file.read(buffer, 0, buffer.length, null)
    if (bytesRead === 0) return crc
    crc = crc32(buffer.subarray(0, bytesRead), crc)
  }
}
