import { readFile } from 'node:fs/promises'
import { type RowHashes, rowHashesFile, rowHashesKey } from '../../src/dataset/row-hashes.ts'
import { explain, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import { diskFailure } from '../../src/spool/disk-failure.ts'
import type { ObjectStore } from '../../src/store/store.ts'

const saveEveryMs = 5 * 60_000

export interface SaveParts {
  readonly work: string
  readonly store: ObjectStore
  readonly log: Log
}

/** Saves the row hashes now and then, here and in the store; they are a cache, and may be lost. */
export function keepSaved(hashes: RowHashes, parts: SaveParts): { now(): Promise<void> } {
  let savedKnown = hashes.known
  const now = async () => {
    if (hashes.known === savedKnown) return
    savedKnown = hashes.known
    const file = rowHashesFile(parts.work)
    try {
      hashes.save(file)
      await parts.store.put(rowHashesKey, await readFile(file))
    } catch (error) {
      const failure = diskFailure(error, 'row hashes not written', file)
      if (!isFailure(failure)) throw error
      parts.log.warn({ reason: explain(failure) }, 'row hashes are not saved')
    }
  }
  const timer = setInterval(() => void now(), saveEveryMs)
  timer.unref()
  return { now }
}
