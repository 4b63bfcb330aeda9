/**
 * A store's samples as the offline loader of vLLM's `speculators` reads them: a dataset of three
 * columns, and beside it, for row N, `hidden_states/hs_N.safetensors` with `hidden_states` [tokens,
 * layers, hidden] and `token_ids` [tokens].
 *
 * @source  speculators c05b95b, `train/data.py` and `hs_connectors/transfer.py`
 */
import { copyFile, link, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Dataset } from '../dataset/rows.ts'
import { diskFailure } from '../disk-failure.ts'
import { eachOf } from '../each-of.ts'
import { hasCode } from '../failure.ts'
import { entryKey } from '../manifest/entry.ts'
import type { EntryTable } from '../manifest/table.ts'
import type { StoredDType } from '../models/hidden-states.ts'
import { makeFolder } from '../new-folder.ts'
import type { ObjectStore } from '../store/store.ts'
import { Budget } from './budget.ts'
import { DiskRoom } from './disk-room.ts'
import { beforeNorm, type LastState } from './last-state.ts'
import { claimFolder, type Marker } from './marker.ts'
import { type RowFiles, rowBytes, writeRows } from './rows.ts'
import { Differing, readSample } from './stored-sample.ts'

export interface SamplesToExport {
  readonly store: ObjectStore
  readonly table: EntryTable
  readonly dataset: DatasetToExport
  readonly dtype: StoredDType
  readonly lastState: LastState
  readonly marker: Marker
}

/** Opened once the folder is this export's: its copy may be fetched into it. */
export interface DatasetToExport {
  /** What its copy takes. */
  readonly bytes: number
  readonly open: () => Promise<Dataset>
}

export interface ExportOptions {
  readonly overwrite: boolean
  /** Bytes that the disk keeps, whoever else writes on it. */
  readonly keepFree: number
  /** Samples under way at once, at most; those in memory are bounded in bytes too. */
  readonly parallel: number
  /** Told how many samples will be fetched, before the first; gives what is told after each. */
  readonly progress: (samples: number) => () => void
}

/** A sample that the store does not have as its manifest says. */
export interface NotExported {
  readonly row: number
  readonly key: string
  readonly problem: string
}

export interface ExportedSamples {
  readonly rows: number
  /** Fetched now. */
  readonly written: number
  /** There already. */
  readonly there: number
  /** Rows that share the file of an earlier row with the same token ids. */
  readonly shared: number
  /** Rows without a file: of no use as data, quarantined, or not extracted. */
  readonly without: number
  readonly differ: readonly NotExported[]
}

/** Samples under way lie in memory whole. */
const memoryBytes = 512 << 20

const statesFolder = 'hidden_states'
const fileOf = (row: number): string => `hs_${row}.safetensors`
const isSample = (name: string): boolean => /^hs_\d+\.safetensors(\.partial)?$/.test(name)
const isShard = (name: string): boolean => /^data-\d+-of-\d+\.arrow$/.test(name)

/**
 * Goes on where an earlier call was cut short: a file that is there is there whole, and is not
 * fetched again.
 *
 * @throws  Failure `invalid`: the folder holds other content, or cannot be written; `unavailable`:
 *          the disk has too little room, or the store does not answer
 */
export async function exportSamples(
  dir: string,
  samples: SamplesToExport,
  options: ExportOptions,
): Promise<ExportedSamples> {
  const states = join(dir, statesFolder)
  try {
    await claimFolder(dir, samples.marker, {
      overwrite: options.overwrite,
      removeOld: (of) => removeOld(dir, of),
    })
    await makeFolder(states)
    const room = new DiskRoom(dir, options.keepFree)
    await room.require(samples.dataset.bytes)
    const dataset = await samples.dataset.open()
    await room.require(rowBytes(dataset))
    const files = await writeRows(dir, { dataset, table: samples.table })
    const there = new Set(await readdir(states))
    const wanted = fetched(files, there)
    await room.require(bytesOf(wanted, files, samples.table))
    const fetch = { states, samples, files, room, ...options }
    const differ = await fetchAll(wanted, fetch)
    return {
      rows: dataset.rows,
      written: wanted.length - differ.length,
      ...(await shareAll(files, { states, there })),
      differ: differ.sort((a, b) => a.row - b.row),
    }
  } catch (error) {
    throw diskFailure(error, { what: 'the export cannot be written', path: dir }, remedies)
  }
}

const remedies = {
  full: 'Free room, or name a folder elsewhere; the same command goes on where it was.',
  refused: 'Name a folder on a disk that can be written, where no file stands in its place.',
}

/** What would be taken for a part of the new export; shards go where an export wrote them. */
async function removeOld(dir: string, of: 'an export' | 'others'): Promise<void> {
  await rm(join(dir, 'state.json'), { force: true })
  if (of === 'an export') await removeEach(dir, isShard)
  await removeEach(join(dir, statesFolder), isSample)
}

async function removeEach(dir: string, isOld: (name: string) => boolean): Promise<void> {
  const names = await readdir(dir).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  })
  for (const name of names.filter(isOld)) await rm(join(dir, name))
}

/** Rows whose own file is to be fetched, in their order. */
const fetched = ({ owners }: RowFiles, there: ReadonlySet<string>): number[] =>
  Array.from(owners.keys()).filter((row) => owners[row] === row && !there.has(fileOf(row)))

const bytesOf = (rows: readonly number[], { entries }: RowFiles, table: EntryTable): number =>
  rows.reduce((sum, row) => sum + table.entryAt(entries[row]).length, 0)

interface Fetch extends ExportOptions {
  readonly states: string
  readonly samples: SamplesToExport
  readonly files: RowFiles
  readonly room: DiskRoom
}

async function fetchAll(rows: readonly number[], fetch: Fetch): Promise<NotExported[]> {
  const { samples, files, parallel } = fetch
  const memory = new Budget(memoryBytes)
  const differ: NotExported[] = []
  const one = fetch.progress(rows.length)
  await eachOf(rows, parallel, async (row) => {
    const entry = samples.table.entryAt(files.entries[row])
    await memory.with(entry.length, async () => {
      try {
        const bytes = await readSample(samples.store, entry)
        const parts = laidOut(bytes, samples, entryKey(entry))
        await fetch.room.write(join(fetch.states, fileOf(row)), parts)
      } catch (error) {
        if (!(error instanceof Differing)) throw error
        differ.push({ row, key: entryKey(entry), problem: error.message })
      }
    })
    one()
  })
  return differ
}

function laidOut(
  bytes: Uint8Array,
  { lastState, dtype }: SamplesToExport,
  name: string,
): readonly Uint8Array[] {
  if (lastState.kind === 'as stored') return [bytes]
  return beforeNorm(bytes, { weight: lastState.weight, dtype, name })
}

/** Rows with the token ids of an earlier one share its file, where the file system can. */
async function shareAll(
  { owners }: RowFiles,
  { states, there }: { readonly states: string; readonly there: ReadonlySet<string> },
): Promise<Pick<ExportedSamples, 'shared' | 'there' | 'without'>> {
  const now = new Set(await readdir(states))
  const told = { shared: 0, there: 0, without: 0 }
  for (const [row, owner] of owners.entries()) {
    if (owner < 0) told.without++
    else if (owner !== row && now.has(fileOf(owner))) {
      told.shared++
      if (!now.has(fileOf(row))) await share(join(states, fileOf(owner)), join(states, fileOf(row)))
    } else if (owner === row && there.has(fileOf(row))) told.there++
  }
  return told
}

async function share(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if (!hasCode(error, 'EPERM', 'EMLINK', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP')) throw error
    await copyFile(from, `${to}.partial`)
    await rename(`${to}.partial`, to)
  }
}
