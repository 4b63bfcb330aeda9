import { formatBytes } from '../../src/config/sizes.ts'
import type { Log } from '../../src/log.ts'
import { fetchDataset } from '../../src/run/dataset-fetch.ts'
import type { ObjectStore } from '../../src/store/store.ts'

/** A line each time that so many bytes more have come. */
const tellBytes = 1e9

/**
 * The dataset of a store, as a folder on this machine; what comes is told.
 *
 * @throws  Failure as `fetchDataset`
 */
export async function fetchedDataset(
  store: ObjectStore,
  dir: string,
  log: Pick<Log, 'info'>,
): Promise<string> {
  let [files, bytes, told] = [0, 0, 0]
  const path = await fetchDataset(store, dir, (file) => {
    files++
    bytes += file.bytes
    if (bytes - told < tellBytes) return
    told = bytes
    log.info({ files, size: formatBytes(bytes) }, 'files of the dataset are here')
  })
  log.info({ files, size: formatBytes(bytes) }, 'the dataset is here')
  return path
}
