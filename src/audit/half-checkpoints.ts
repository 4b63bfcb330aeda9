/** Checkpoints that are none: of a save that was cut short, or half removed. */
import { isHalf, listCheckpoints, lookInto } from '../checkpoint/list.ts'
import { isFailure } from '../failure.ts'
import type { ObjectInfo, ObjectStore } from '../store/store.ts'

export interface HalfCheckpoints {
  readonly objects: readonly ObjectInfo[]
  /** Files that may be somebody's work still. */
  readonly left: number
}

/**
 * A folder is as old as its youngest file: while a save goes on, one comes after the other.
 *
 * @param before  milliseconds since the epoch by the store's clock: what is younger stays
 */
export async function halfCheckpoints(
  store: ObjectStore,
  before: number,
): Promise<HalfCheckpoints> {
  const old: ObjectInfo[] = []
  let left = 0
  for (const folder of await listCheckpoints(store)) {
    if (!(await isNone(store, folder))) continue
    const isOld = folder.objects.every(({ lastModified }) => lastModified < before)
    if (isOld) old.push(...folder.objects)
    else left += folder.objects.length
  }
  return { objects: old, left }
}

/** One of another version is none that we know of, and not ours to remove. */
async function isNone(...of: Parameters<typeof lookInto>): Promise<boolean> {
  try {
    return isHalf(await lookInto(...of))
  } catch (error) {
    if (isFailure(error, 'invalid')) return false
    throw error
  }
}
