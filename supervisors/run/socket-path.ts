import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where the work folder's socket lies, and the name that the system takes for it. */

/** The system's limit on a socket's path, less some. */
const socketPathMax = 100
const socketName = 'draftsmith.sock'

/** Of this process's user, who may have no name, as in containers; 0 where there are no users. */
export const thisUid = (): number => process.getuid?.() ?? 0

/** What belongs to the console: the socket, and what was typed. */
export const consoleFolder = (work: string): string => join(work, 'console')

/**
 * In the work folder. Where its path is too long for a socket, by a shorter way to the same place,
 * so that whoever holds the folder is found whatever temporary folder either uses; where the system
 * has no such way, in a folder of the user's own.
 *
 * @throws  an error of the system's: the console's folder is not there
 */
export function socketPath(work: string): string {
  const folder = consoleFolder(work)
  const inside = join(folder, socketName)
  if (Buffer.byteLength(inside) <= socketPathMax) return inside
  if (process.platform === 'linux') return `/proc/self/fd/${openFolder(folder)}/${socketName}`
  const name = createHash('sha256').update(work).digest('hex').slice(0, 16)
  return join(tmpdir(), `draftsmith-${thisUid()}`, `${name}.sock`)
}

/** Kept open: the way through a descriptor lasts as long as that does. */
const open = new Map<string, number>()

function openFolder(folder: string): number {
  const now = statSync(folder)
  const known = open.get(folder)
  if (known !== undefined) {
    const { dev, ino } = fstatSync(known)
    if (dev === now.dev && ino === now.ino) return known
    closeSync(known)
  }
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  open.set(folder, descriptor)
  return descriptor
}
