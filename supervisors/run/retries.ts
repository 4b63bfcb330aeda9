import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { wallClock } from '../../src/clock.ts'
import { diskFailure } from '../../src/disk-failure.ts'
import { Failure, hasCode } from '../../src/failure.ts'
import { nextTry } from '../../src/manifest/attempt.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { openClaims } from '../../src/spool/claims.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { deathBefore } from '../launcher.ts'
import type { Prepared } from './preflight.ts'

/**
 * What `retry-quarantined` tries again. The list is made once and kept in the work folder: a
 * process that the launcher starts anew must not try a second time what was tried and failed.
 */

const fileOf = (work: string): string => join(work, 'retry.json')
const listSchema = z.array(z.tuple([z.string(), z.int()]))

/** The run, as one that also tries again all that its manifest says is quarantined. */
export async function withRetries(store: ObjectStore, prepared: Prepared): Promise<Prepared> {
  return { ...prepared, retry: await listRetries(store, prepared.config.work) }
}

/**
 * Hash → the attempt that ended so; what deaths said of the batches is forgotten.
 *
 * @throws  Failure: the disk refuses the list; `corrupt`: the one that was kept is none
 */
export async function listRetries(store: ObjectStore, work: string): Promise<Prepared['retry']> {
  const kept = deathBefore() === null ? undefined : read(work)
  if (kept) return kept
  const writer = newWriterId(wallClock, Math.random)
  const table = await openManifest(store, { writer }).replay()
  const retries = new Map<string, number>()
  for (const { hash, status, attempt } of table.quarantined > 0 ? table.entries() : []) {
    // Of one whose tries are used up, a further failure could not be told from the last.
    if (status === 'quarantined' && nextTry(attempt) !== attempt) retries.set(hash, attempt)
  }
  openClaims(work).clear()
  write(work, retries)
  return retries
}

/** Once the folder is held: a list that an earlier command left, killed, is not this one's. */
export function beginRetries(work: string): void {
  if (deathBefore() === null) forgetRetries(work)
}

/** The command has ended, and with it the list. */
export const forgetRetries = (work: string): void => rmSync(fileOf(work), { force: true })

function read(work: string): Prepared['retry'] | undefined {
  const path = fileOf(work)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    // It died before it had made one; a list is written whole or not at all.
    if (hasCode(error, 'ENOENT')) return undefined
    throw diskFailure(error, { what: 'the list of retries was not read', path })
  }
  try {
    return new Map(listSchema.parse(JSON.parse(text)))
  } catch (cause) {
    throw new Failure('corrupt', `the list of retries cannot be read. path=${path}`, {
      remedy: 'Call the command again: it makes a new one.',
      cause,
    })
  }
}

function write(work: string, retries: Prepared['retry']): void {
  const path = fileOf(work)
  try {
    writeFileSync(`${path}.tmp`, JSON.stringify([...retries]))
    renameSync(`${path}.tmp`, path)
  } catch (error) {
    throw diskFailure(error, { what: 'the list of retries was not written', path })
  }
}
