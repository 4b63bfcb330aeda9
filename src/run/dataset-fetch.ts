/** The dataset's copy in the store, brought to a machine that has none. */
import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { crc32 } from 'node:zlib'
import { diskFailure } from '../disk-failure.ts'
import { inOrder } from '../each-of.ts'
import { Failure } from '../failure.ts'
import { makeFolder } from '../new-folder.ts'
import type { ObjectStore } from '../store/store.ts'
import { type DatasetIndex, fileCrc32, requireDataset } from './dataset-copy.ts'

/** One stream of a store far away gives a fraction of what the line bears. */
const getsAtOnce = 8
const chunkBytes = 8 * 2 ** 20

/**
 * Brings the dataset from the store into a folder; files that are there whole are not fetched
 * again.
 *
 * @param progress  told after each file
 * @returns  what to open
 * @throws   Failure `invalid`: the store holds no dataset; `corrupt`: a file is not what the index
 *           says
 */
export async function fetchDataset(
  store: ObjectStore,
  dir: string,
  progress: (done: { readonly path: string; readonly bytes: number }) => void,
): Promise<string> {
  const index = await requireDataset(store)
  for (const file of index.files) {
    await fetchFile(store, file, join(dir, ...file.path.split('/')))
    progress(file)
  }
  return join(dir, ...index.entry.split('/').filter((part) => part !== '.')).replace(
    new RegExp(`\\${sep}$`),
    '',
  )
}

async function fetchFile(
  store: ObjectStore,
  file: DatasetIndex['files'][number],
  path: string,
): Promise<void> {
  const temporary = `${path}.tmp`
  try {
    const isThere = (await sizeOf(path)) === file.bytes && (await fileCrc32(path)) === file.crc32
    if (isThere) return
    await makeFolder(dirname(path))
    // What arrives damaged once may have been the line.
    if (!(await download(store, file, temporary)).isSame) {
      const { isSame, facts } = await download(store, file, temporary)
      if (!isSame) throw differing(facts)
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined)
    throw diskFailure(error, { what: 'a file of the dataset cannot be kept', path })
  }
}

async function download(
  store: ObjectStore,
  file: DatasetIndex['files'][number],
  path: string,
): Promise<{ readonly isSame: boolean; readonly facts: string }> {
  const key = `dataset/${file.path}`
  await using out = await open(path, 'w')
  let [crc, bytes] = [0, 0]
  const get = (range: Range) => store.get(key, range)
  for await (const chunk of inOrder(rangesOf(file.bytes), getsAtOnce, get)) {
    if (!chunk) {
      throw new Failure('corrupt', `a file of the dataset is not in the store. key=${key}`, {
        remedy: 'Run again on a machine that has the dataset: it is uploaded anew.',
      })
    }
    crc = crc32(chunk, crc)
    bytes += chunk.length
    await out.writeFile(chunk)
    // The object ends here, whatever its index says: nothing would come of asking for more.
    if (chunk.length < chunkBytes) break
  }
  const sizes = bytes === file.bytes ? '' : `, bytes: want=${file.bytes}, found=${bytes}`
  const facts = `key=${key}, want=${file.crc32}, found=${crc}${sizes}`
  return { isSame: bytes === file.bytes && crc === file.crc32, facts }
}

interface Range {
  readonly start: number
  readonly end: number
}

function* rangesOf(bytes: number): Generator<Range> {
  for (let start = 0; start < bytes; start += chunkBytes) {
    yield { start, end: Math.min(bytes, start + chunkBytes) }
  }
}

const differing = (facts: string): Failure =>
  new Failure('corrupt', `a file of the dataset differs from its index. ${facts}`, {
    remedy:
      'Remove this object, then run again on a machine that has the dataset: it is uploaded anew.',
  })

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch {
    return undefined
  }
}
