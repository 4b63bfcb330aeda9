import { join } from 'node:path'
import { randomHex } from '../../src/clock.ts'
import { type DiskUse, systemDiskUse } from '../../src/disk.ts'
import { diskFailure } from '../../src/disk-failure.ts'
import { Failure, hasCode } from '../../src/failure.ts'
import { openSpool } from '../../src/spool/spool.ts'

/**
 * A spooled file's name tells its row and not its run. So the run's id lies beside the spool: what
 * another run has left there must not go to this one's store, and be removed here.
 */

/** Samples, torn ones among them, that wait in a work folder's spool. */
export interface Waiting {
  readonly dir: string
  readonly samples: number
  readonly bytes: number
  /** The id of the run that had the spool last; undefined where nothing says. */
  readonly run: string | undefined
}

const ownerFile = (work: string): string => join(work, 'spool-of-run')

/** @throws  Failure `invalid`: spool or id cannot be read */
export async function waitingIn(work: string, use = systemDiskUse): Promise<Waiting> {
  const spool = await openSpool(join(work, 'spool'), use)
  const { samples } = await spool.list()
  const bytes = samples.reduce((sum, sample) => sum + sample.bytes, 0)
  return { dir: spool.dir, samples: samples.length, bytes, run: ownerOf(work, use) }
}

/**
 * Samples of which nothing says whose they are pass: an earlier version marked no spool.
 *
 * @param run  the id of the run that would send them; null: of one that is still to begin
 * @throws     Failure `invalid`: samples of another run wait there
 */
export function requireOwn({ dir, samples, run: found }: Waiting, run: string | null): void {
  if (samples === 0 || found === undefined || found === run) return
  const facts = `path=${dir}, samples=${samples}, want=${run ?? 'a new run'}, found=${found}`
  throw new Failure('invalid', `the spool holds samples of another run. ${facts}`, {
    remedy:
      'Give this run another work folder, or run first, with its own configuration, the one that ' +
      'these files are of: that sends them. Or remove them: what they hold is computed again.',
  })
}

/**
 * Makes the spool this run's, before anything is spooled.
 *
 * @param run  its id
 * @returns    what waited there
 * @throws     Failure `invalid`: samples of another run do; `unavailable`: the disk is full
 */
export async function takeSpool(work: string, run: string, use = systemDiskUse): Promise<Waiting> {
  const waiting = await waitingIn(work, use)
  requireOwn(waiting, run)
  if (waiting.run !== run) writeOwner(waiting.dir, { work, run }, use)
  return waiting
}

function ownerOf(work: string, { disk }: DiskUse): string | undefined {
  const path = ownerFile(work)
  const undone = { what: 'whose the spool is was not read', path }
  try {
    const bytes = disk.now.readWhole(path)
    if (bytes) return bytes.toString('utf8').trim() || undefined
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw diskFailure(error, undone)
  }
  throw new Failure('invalid', `${undone.what}: it is no file. path=${path}`, {
    remedy: 'Remove what bears its name from the work folder.',
  })
}

/** Lasting, as the samples are not: they may outlive a crash of the machine, and so must it. */
function writeOwner(
  spool: string,
  { work, run }: { readonly work: string; readonly run: string },
  { disk, random }: DiskUse,
): void {
  const path = ownerFile(work)
  const temp = `${path}.${randomHex(random, 12)}.tmp`
  try {
    // What the run before has sent and removed must not come back as this one's.
    disk.now.syncFolder(spool)
    disk.now.create(temp, Buffer.from(`${run}\n`), 'synced')
    disk.now.rename(temp, path)
    disk.now.syncFolder(work)
  } catch (error) {
    disk.now.remove(temp)
    throw diskFailure(error, { what: 'whose the spool is was not written', path })
  }
}
