/** What saves that were cut short left in a store, as far as it is paid for and seen by nobody. */
import { abortUploads } from '../store/open-upload.ts'
import type { ObjectStore } from '../store/store.ts'
import { listCheckpoints } from './list.ts'
import { checkpointsPrefix, fileKey } from './names.ts'

/**
 * Aborts uploads in parts that nobody completes. Some stores find them by their whole key only:
 * those of a folder that has a file already are found there too.
 */
export async function abortUnfinishedSaves(store: ObjectStore): Promise<void> {
  await abortUploads(store, checkpointsPrefix)
  for (const { name, objects } of await listCheckpoints(store)) {
    const there = new Set(objects.map(({ key }) => key))
    if (there.has(fileKey(name, 'state'))) continue
    for (const file of ['model', 'optimizer'] as const) {
      const key = fileKey(name, file)
      if (!there.has(key)) await abortUploads(store, key)
    }
  }
}
