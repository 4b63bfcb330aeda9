import { readFile } from 'node:fs/promises'
import type { RowHashes } from '../../src/dataset/row-hashes.ts'
import { explain, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { rowHashesFile, rowHashesKey } from './open.ts'

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
    hashes.save(file)
    try {
      await parts.store.put(rowHashesKey, await readFile(file))
    } catch (error) {
      if (!isFailure(error)) throw error
      parts.log.warn({ reason: explain(error) }, 'row hashes are not in the store')
    }
  }
  const timer = setInterval(() => void now(), saveEveryMs)
  timer.unref()
  return { now }
}
