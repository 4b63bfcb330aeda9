/**
 * The hashes of a dataset's rows as they are kept from one start to the next: on this machine, and
 * beside the dataset's copy in the store. A cache: it may be lost, and what is damaged is dropped.
 */
import { type Clock, every, systemClock } from '../clock.ts'
import { RowHashes, rowHashesFile, rowHashesKey } from '../dataset/row-hashes.ts'
import { type Disk, systemDisk } from '../disk.ts'
import { diskFailure } from '../disk-failure.ts'
import { explain, Failure, hasCode, isFailure } from '../failure.ts'
import type { Log } from '../log.ts'
import type { ObjectStore } from '../store/store.ts'

const saveEveryMs = 5 * 60_000

export interface HashesPlace {
  /** Null: of this machine nothing is known. */
  readonly work: string | null
  readonly store: ObjectStore
  /** Of the work folder; default: the machine's. */
  readonly disk?: Disk
}

export interface FoundHashes {
  readonly hashes: RowHashes
  readonly from: 'work folder' | 'store'
}

/**
 * What was kept: here, else in the store; undefined where neither has a table that will do.
 *
 * @param decode     a file's bytes as the table that is wanted, as `RowHashes` has them
 * @param onRefused  told why a table that is there is of no use
 */
export async function findRowHashes(
  { work, store, disk = systemDisk }: HashesPlace,
  decode: (bytes: Uint8Array) => RowHashes,
  onRefused: (failure: Failure) => void = () => undefined,
): Promise<FoundHashes | undefined> {
  const places = [
    {
      from: 'work folder',
      read: async () => (work === null ? undefined : await readHere(work, disk)),
    },
    { from: 'store', read: () => store.get(rowHashesKey) },
  ] as const
  for (const { from, read } of places) {
    try {
      const bytes = await read()
      if (bytes) return { hashes: decode(bytes), from }
    } catch (error) {
      if (!isFailure(error, 'corrupt')) throw error
      onRefused(error)
    }
  }
  return undefined
}

async function readHere(work: string, disk: Disk): Promise<Buffer | undefined> {
  const file = rowHashesFile(work)
  try {
    return await disk.readWhole(file)
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return undefined
    throw new Failure('corrupt', `a table of row hashes cannot be read. file=${file}`, { cause })
  }
}

/** For whoever reads rows: what was kept of them, or an empty table; the log says which. */
export async function openRowHashes(
  of: { readonly rows: number; readonly fingerprint: Buffer },
  place: HashesPlace,
  log: Log,
): Promise<RowHashes> {
  const { rows, fingerprint } = of
  const found = await findRowHashes(
    place,
    (bytes) => RowHashes.decode(bytes, rows, fingerprint),
    (err) => log.warn({ err }, 'row hashes are not of use'),
  )
  if (!found) {
    log.info({ rows }, 'rows are hashed as they are read')
    return new RowHashes(rows, fingerprint)
  }
  const { hashes, from } = found
  log.info({ rows, known: hashes.known, from }, 'row hashes were kept: these are not hashed anew')
  return hashes
}

interface SavedPlace extends HashesPlace {
  readonly work: string
  readonly log: Log
}

export interface KeptHashes {
  /**
   * Saves what is new, in both places; a saving that is under way is waited for. Settles though a
   * place takes none: the log says so, and the next saving tries again.
   */
  now(): Promise<void>
}

/** Saves the table now and then, wherever there is more in it than before. */
export function keepRowHashes(
  hashes: RowHashes,
  place: SavedPlace & { readonly clock?: Clock },
): KeptHashes {
  let savedKnown = hashes.known
  const save = async () => {
    const { known } = hashes
    if (known !== savedKnown && (await saved(hashes, place))) savedKnown = known
  }
  let underWay: Promise<void> | undefined
  const now = async () => {
    // It may have begun with fewer rows than there are by now.
    await underWay
    underWay ??= save().finally(() => {
      underWay = undefined
    })
    await underWay
  }
  every(saveEveryMs, place.clock ?? systemClock, () => void now())
  return { now }
}

/** Whether both places took it. */
async function saved(
  hashes: RowHashes,
  { work, store, log, disk = systemDisk }: SavedPlace,
): Promise<boolean> {
  const { known, rows } = hashes
  const file = rowHashesFile(work)
  try {
    hashes.save(file, disk.now)
    await store.put(rowHashesKey, await disk.readWhole(file))
    log.info({ rows, known }, 'row hashes are kept, here and in the store')
    return true
  } catch (error) {
    const failure = diskFailure(error, { what: 'row hashes not written', path: file })
    if (!isFailure(failure)) throw error
    log.warn({ reason: explain(failure) }, 'row hashes are not saved')
    return false
  }
}
