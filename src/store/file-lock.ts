/**
 * One writer at a time for one name, among all processes on this machine: what `putIfMatch` needs,
 * for a file system has no "replace this if it is still that". The lock is a file that only one can
 * create. It is held for the milliseconds of one synchronous step, so an old one has a dead owner.
 */
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { sleep } from '../clock.ts'
import { Failure, hasCode } from '../failure.ts'

const STALE_MS = 10_000
const WAIT_MS = 30_000

/**
 * Runs `step` while nobody else does under the lock file `path`.
 *
 * @throws Failure `unavailable`: others held it for half a minute
 */
export async function exclusively<T>(path: string, step: () => T): Promise<T> {
  const nonce = randomUUID()
  const until = Date.now() + WAIT_MS
  while (!acquire(path, nonce)) {
    if (Date.now() > until) {
      throw new Failure('unavailable', `others are replacing this object. lock=${path}`)
    }
    breakStale(path)
    await sleep(5 + Math.random() * 10)
  }
  try {
    return step()
  } finally {
    if (ownerOf(path) === nonce) rmSync(path, { force: true })
  }
}

function acquire(path: string, nonce: string): boolean {
  try {
    writeFileSync(path, nonce, { flag: 'wx' })
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

/**
 * Moves an old lock aside. Of two that do so at once, the slower may catch the lock that was taken
 * after the quicker one's move: it gives that one back.
 */
function breakStale(path: string): void {
  const owner = ownerOf(path)
  const taken = statSync(path, { throwIfNoEntry: false })
  if (!taken || Date.now() - taken.mtimeMs < STALE_MS) return
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
    if (ownerOf(aside) !== owner) linkSync(aside, path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'EEXIST')) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

function ownerOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}
