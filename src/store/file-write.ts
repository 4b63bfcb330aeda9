/**
 * How bytes come into a folder for good: a file of its own in the side folder, synced, then renamed
 * (or linked) to its name, whose folder is synced too. Whoever dies on the way leaves a file that
 * no listing shows and a later start sweeps.
 */
import { randomUUID } from 'node:crypto'
import { link, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { hasCode } from '../failure.ts'
import { syncFolder } from '../lasting.ts'
import { makeFolder } from '../new-folder.ts'
import { bodyBytes, bodyChunks, checkCrc } from './body.ts'
import type { Body } from './store.ts'

/** What no process can still be writing. */
const LEFTOVER_MS = 24 * 3_600_000
/** Each is lost only to somebody who removes the last object of the folder at that moment. */
const folderTriesMax = 100

export interface Incoming {
  readonly path: string
  readonly crc32: number
  readonly bytes: number
}

/**
 * Writes the bodies, one after the other, into one synced file under `folder`.
 *
 * @throws Failure `corrupt`: the bytes do not have the CRC-32 `want`; nothing is left behind
 */
export async function writeIncoming(
  folder: string,
  bodies: readonly Body[],
  want?: number,
): Promise<Incoming> {
  const path = join(folder, `${process.pid}-${randomUUID()}`)
  await makeLastingFolder(folder)
  const file = await open(path, 'wx')
  try {
    let crc = 0
    let bytes = 0
    for (const body of bodies) {
      for await (const chunk of bodyChunks(body)) {
        await file.writeFile(chunk)
        crc = crc32(chunk, crc)
      }
      bytes += bodyBytes(body)
    }
    const whole = bodies.length === 1 ? bodies[0] : undefined
    if (want !== undefined && whole) checkCrc(want, crc, whole)
    await file.sync()
    return { path, crc32: crc, bytes }
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

/** Gives the file its name, in place of what bore it. */
export async function publish(from: string, to: string): Promise<void> {
  await inFolderOf(to, () => rename(from, to))
}

/** Gives the file its name; false where the name is taken. */
export async function publishNew(from: string, to: string): Promise<boolean> {
  try {
    await inFolderOf(to, () => link(from, to))
    return true
  } catch (error) {
    // mkdir says EEXIST too, where a file is in the place of a folder above the name.
    if (hasCode(error, 'EEXIST') && (await exists(to))) return false
    throw error
  } finally {
    await rm(from, { force: true })
  }
}

/** Makes the folder and those above it, so that they outlive a loss of power. */
export async function makeLastingFolder(path: string): Promise<void> {
  const first = await makeFolder(path)
  if (first === undefined) return
  for (let at = path; at.length >= first.length; at = dirname(at)) await syncFolder(dirname(at))
}

/** Removes what a process that died long ago was still writing. */
export async function sweepLeftovers(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found && now - found.mtimeMs > LEFTOVER_MS) await rm(path, { recursive: true, force: true })
  }
}

/**
 * Removes the folders of a key that hold nothing any more; the root stays. A folder that somebody
 * puts something into is not removed: the system refuses.
 */
export async function removeEmptyFolders(root: string, key: string): Promise<void> {
  for (let folder = dirname(key); folder !== '.'; folder = dirname(folder)) {
    try {
      await rmdir(join(root, folder))
    } catch (error) {
      // Others may have removed it, and not yet the one above.
      if (!hasCode(error, 'ENOENT')) return
    }
  }
}

/**
 * The folder is made where it is missing, again and again where others remove it as empty. Nothing
 * is synced before the name is there: then it holds its folders, and nobody removes them.
 */
async function inFolderOf(path: string, work: () => Promise<void>): Promise<void> {
  const folder = dirname(path)
  /** The topmost of what is new, in any of the tries: the name, or a folder above it. */
  let top = path
  for (let tries = 1; ; tries++) {
    try {
      if (tries > 1) top = shorter(top, (await makeFolder(folder)) ?? path)
      await work()
      break
    } catch (error) {
      if (!hasCode(error, 'ENOENT') || tries > folderTriesMax) throw error
    }
  }
  for (let at = path; at.length >= top.length; at = dirname(at)) await syncIfThere(dirname(at))
}

const shorter = (a: string, b: string): string => (b.length < a.length ? b : a)

/** Who removes what was just put, and its folder, leaves nothing to be synced. */
export async function syncIfThere(folder: string): Promise<void> {
  try {
    await syncFolder(folder)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
