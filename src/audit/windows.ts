/** What a crash has left half done, by what lies in the spool, the manifest and the store. */
import { parseSampleKey } from '../manifest/key.ts'
import type { Seen } from './invariants.ts'

/** A count for each of the design's windows. */
export interface Windows {
  /** Computed, before the spool's rename: temporary files. */
  readonly beforeRename: number
  /** Renamed, before commit. */
  readonly beforeCommit: number
  /** Committed, before local removal. */
  readonly beforeRemoval: number
  /** Objects that no segment names: what a new machine finds. */
  readonly unnamed: number
}

export const noWindow: Windows = { beforeRename: 0, beforeCommit: 0, beforeRemoval: 0, unnamed: 0 }

export function windowsIn({ entries, objects, spooled, temps }: Seen): Windows {
  const beforeRemoval = spooled.filter(({ hash }) => entries.has(hash)).length
  const unnamed = [...objects.keys()].filter((key) => {
    const hash = parseSampleKey(key)?.hash
    return hash !== undefined && !entries.has(hash)
  })
  return {
    beforeRename: temps,
    beforeCommit: spooled.length - beforeRemoval,
    beforeRemoval,
    unnamed: unnamed.length,
  }
}
