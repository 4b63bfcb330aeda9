/** A folder of a few files that belong together, and of nothing else unless one says so. */
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { diskFailure } from '../disk-failure.ts'
import { Failure, hasCode } from '../failure.ts'
import { syncFolder } from '../lasting.ts'
import { makeFolder } from '../new-folder.ts'
import { readRange } from '../safetensors/read.ts'
import { writeSynced } from './disk-room.ts'

export interface FileToWrite {
  readonly name: string
  /** The whole file, in order. */
  readonly parts: readonly Uint8Array[]
}

/** Named in a message; the rest is counted. */
const namedMax = 8
const compareBytes = 4 << 20
const partial = (name: string): string => `${name}.partial`

/**
 * Writes the files in order: that the last is there says that the others are. Each appears whole,
 * and is synced. Written again with the same content, nothing changes.
 *
 * @param options.overwrite  replace files of the same names, and let all else that is there be
 * @returns                  false: all of it was there already
 * @throws                   Failure `invalid`: the folder holds other content, which stays, or it
 *                           cannot be written; `unavailable`: the disk is full
 */
export async function writeFolder(
  dir: string,
  files: readonly FileToWrite[],
  { overwrite }: { readonly overwrite: boolean },
): Promise<boolean> {
  try {
    const there = await namesIn(dir)
    const ours = new Set(files.flatMap(({ name }) => [name, partial(name)]))
    await requireFiles(
      dir,
      there.filter((name) => ours.has(name)),
    )
    const differ = await differing(dir, files, there)
    const foreign = there.filter((name) => !ours.has(name))
    const others = [...foreign, ...differ]
    if (!overwrite && others.length > 0) throw otherContent(dir, others)
    const wanted = files.filter(({ name }) => differ.includes(name) || !there.includes(name))
    if (wanted.length === 0) return false
    await makeFolder(dir)
    const last = files.at(-1)
    // While its files are replaced one by one, none may vouch for the others.
    if (last && differ.length > 0) await rm(join(dir, last.name), { force: true })
    for (const file of new Set([...wanted, ...(last ? [last] : [])])) await write(dir, file)
    return true
  } catch (error) {
    throw diskFailure(error, { what: 'folder not written', path: dir }, remedies)
  }
}

const remedies = {
  full: 'Free room on its disk, or name a folder elsewhere.',
  refused: 'Name a folder on a disk that can be written, where no file stands in its place.',
}

/** None where there is no folder; sorted. */
export async function namesIn(dir: string): Promise<string[]> {
  try {
    return (await readdir(dir)).sort()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

/** What is no file is replaced by none: that is found out before anything is. */
async function requireFiles(dir: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const path = join(dir, name)
    if ((await stat(path)).isFile()) continue
    throw new Failure('invalid', `what stands in the place of a file is none. path=${path}`, {
      remedy: 'Move it away, or name another folder; nothing was changed.',
    })
  }
}

/** Those that are there with other content. */
async function differing(
  dir: string,
  files: readonly FileToWrite[],
  there: readonly string[],
): Promise<string[]> {
  const differ: string[] = []
  for (const file of files) {
    if (there.includes(file.name) && !(await isSame(join(dir, file.name), file.parts))) {
      differ.push(file.name)
    }
  }
  return differ
}

async function isSame(path: string, parts: readonly Uint8Array[]): Promise<boolean> {
  await using file = await open(path)
  const holdsAt = async (start: number, want: Uint8Array) =>
    Buffer.compare(await readRange(file, { path, start, end: start + want.length }), want) === 0
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0)
  if ((await file.stat()).size !== bytes) return false
  let at = 0
  for (const part of parts) {
    for (let from = 0; from < part.byteLength; from += compareBytes) {
      if (!(await holdsAt(at + from, part.subarray(from, from + compareBytes)))) return false
    }
    at += part.byteLength
  }
  return true
}

async function write(dir: string, { name, parts }: FileToWrite): Promise<void> {
  const temporary = join(dir, partial(name))
  await writeSynced(temporary, parts)
  await rename(temporary, join(dir, name))
  // The last vouches for the others: their names are to be there before its own.
  await syncFolder(dir)
}

/** What a folder holds that was not to be there. */
export function otherContent(dir: string, names: readonly string[]): Failure {
  const more = names.length > namedMax ? ` and ${names.length - namedMax} more` : ''
  const found = `${names.slice(0, namedMax).join(', ')}${more}`
  return new Failure('invalid', `the folder holds other content. dir=${dir}, found=${found}`, {
    remedy:
      'Name a new folder, or give --overwrite: what bears the same names goes, the rest stays.',
  })
}
