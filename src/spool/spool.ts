/**
 * The spool: a folder of finished samples that wait to be stored. It outlives every actor; several
 * may write to it at once. How many bytes it may hold is its user's account, not its own.
 */
import { join } from 'node:path'
import { randomHex } from '../clock.ts'
import { type DiskUse, type ReadableFile, systemDisk, systemDiskUse } from '../disk.ts'
import { Failure, hasCode } from '../failure.ts'
import { probe } from '../probe.ts'
import { isTempName, parseSpoolName, type SpooledSample, spoolName, tempName } from './name.ts'
import { spoolFailure } from './spool-failure.ts'

/** How often `add` writes a file whose temporary name is taken away from under it. */
const triesMax = 3

/** A sample file before it is one: its pieces, and what its name will say of them. */
export interface FinishedSample extends SpooledSample {
  /** The whole file, in order; `bytes` together. */
  readonly parts: readonly Uint8Array[]
}

/** All names in the spool's folder, by what they are. */
export interface SpoolListing {
  readonly samples: readonly SpooledSample[]
  /** Written by a start that ended in mid-file, or being written now. */
  readonly temps: readonly string[]
  /**
   * Names that this project does not give, and whatever bears one and is no file: a folder, a pipe,
   * a link. They are left alone.
   */
  readonly foreign: readonly string[]
}

/** A spool's folder, open. Any number of threads and processes may open the same one. */
export interface Spool {
  readonly dir: string
  /**
   * Writes the file under a temporary name, then renames it: whoever finds it finds all of it. It
   * is not synced: after a crash of the machine the length and checksum in the name tell a whole
   * file from a torn one, which costs less than a sync a sample.
   *
   * @throws Failure `unavailable`: the disk is full; `invalid`: the folder cannot be written
   */
  add(sample: FinishedSample): Promise<SpooledSample>
  path(sample: SpooledSample): string
  /** No error where it is gone. */
  remove(sample: SpooledSample): Promise<void>
  /** Removes a file that `list` named, whatever it is. */
  discard(name: string): Promise<void>
  /** To read it; errors are the system's. */
  open(sample: SpooledSample): Promise<ReadableFile>
  list(): Promise<SpoolListing>
}

/** @throws Failure `invalid`: the folder cannot be made */
export async function openSpool(dir: string, use: DiskUse = systemDiskUse): Promise<Spool> {
  const { disk } = use
  await attempt('spool cannot be made', dir, () => disk.makeFolder(dir))
  const discard = (name: string): Promise<void> => {
    const path = join(dir, name)
    return attempt('file not removed', path, () => disk.remove(path).catch(unlessGone))
  }
  return {
    dir,
    add: (sample) => add(dir, sample, use),
    path: (sample) => join(dir, spoolName(sample)),
    remove: (sample) => discard(spoolName(sample)),
    discard,
    open: (sample) => disk.open(join(dir, spoolName(sample))),
    list: () => list(dir, use),
  }
}

function unlessGone(error: unknown): void {
  if (!hasCode(error, 'ENOENT')) throw error
}

/** Bytes that an unprivileged process may still write to the disk that holds `dir`. */
export const freeBytes = (dir: string, disk = systemDisk): Promise<number> =>
  attempt('free room not known', dir, () => disk.freeBytes(dir))

async function add(dir: string, finished: FinishedSample, use: DiskUse): Promise<SpooledSample> {
  const { hash, tokens, bytes, crc32, parts } = finished
  const sample = { hash, tokens, bytes, crc32 }
  const found = parts.reduce((sum, part) => sum + part.length, 0)
  if (found !== sample.bytes) {
    throw new RangeError(`parts are not the file. want=${sample.bytes}, found=${found}`)
  }
  const name = spoolName(sample)
  const path = join(dir, name)
  await attempt('sample not written', path, async () => {
    // A recovery that begins meanwhile, as when the ledger starts again, takes our file for a dead
    // writer's. It does so once.
    for (let tries = 0; tries < triesMax; tries++) {
      if (await writeAndRename({ dir, name, parts }, use)) return
    }
    throw new Failure('unavailable', `temporary files are taken away. path=${path}`)
  })
  probe('spool.renamed')
  return sample
}

/** False where the temporary file was taken away before its rename. */
async function writeAndRename(
  {
    dir,
    name,
    parts,
  }: { readonly dir: string; readonly name: string } & Pick<FinishedSample, 'parts'>,
  { disk, random }: DiskUse,
): Promise<boolean> {
  const temp = join(dir, tempName(name, randomHex(random, 16)))
  try {
    await disk.create(temp, parts)
    probe('spool.before-rename')
    await disk.rename(temp, join(dir, name))
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT') && isRename(error)) return false
    await disk.remove(temp).catch(unlessGone)
    throw error
  }
}

const isRename = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && error.syscall === 'rename'

async function list(dir: string, { disk }: DiskUse): Promise<SpoolListing> {
  const entries = await attempt('spool cannot be read', dir, () => disk.list(dir))
  const samples: SpooledSample[] = []
  const temps: string[] = []
  const foreign: string[] = []
  for (const entry of entries) {
    const { name } = entry
    const sample = parseSpoolName(name)
    // To open a pipe would wait for a writer that never comes.
    if (!entry.isFile()) foreign.push(name)
    else if (sample) samples.push(sample)
    else if (isTempName(name)) temps.push(name)
    else foreign.push(name)
  }
  return { samples, temps, foreign }
}

async function attempt<T>(what: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw spoolFailure(error, { what, path })
  }
}
