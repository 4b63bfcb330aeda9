/**
 * What a loss of power leaves of a machine's disk. The rule, for every file of this project:
 *
 * - What nothing else tells again is lasting: its bytes are synced, then it is given its name by a
 *   rename, then the folder of that name is synced. So the objects of a `file://` store, whose the
 *   spool is (`spool-of-run`), an exported drafter. A name that must be gone before another is
 *   given wants its folder synced between the two.
 * - What can be told from damage by itself is not: its name or its head bears length and checksum,
 *   and what does not fit them is made again. So the spool's samples, fetched samples, the fetched
 *   dataset, row hashes, the order log, exported samples.
 * - What is only a hint, or a record for people, is not: claims, the list of retries, logs, audit.
 * - A copy that is told by its size and time alone has its bytes synced before its name: the
 *   weights of a target on another file system, whose damage would be seen by nobody.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { hasCode } from './failure.ts'

/** Makes the names in a folder as they are now outlive a loss of power: those gone stay gone. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path)
  await folder.sync().catch(unlessUnknown)
}

/** The same, at once. */
export function syncFolderNow(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } catch (error) {
    unlessUnknown(error)
  } finally {
    closeSync(folder)
  }
}

/** A file system that syncs no folders, as some of the network's do, keeps names as it can. */
function unlessUnknown(error: unknown): void {
  if (!hasCode(error, 'EINVAL', 'ENOTSUP')) throw error
}

/** Makes a file's bytes outlive a loss of power; for its name see `syncFolder`. */
export async function syncFile(path: string): Promise<void> {
  // To be read: the copy of what nobody may write is not to be written either.
  await using file = await open(path)
  await file.sync()
}
