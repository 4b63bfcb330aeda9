import { systemClock } from '../src/clock.ts'
import { configForStore } from '../src/config/load.ts'
import { formatBytes } from '../src/config/sizes.ts'
import { datasetFingerprint } from '../src/dataset/fingerprint.ts'
import type { Log } from '../src/log.ts'
import { isAlive, thisHolder } from '../src/manifest/holder.ts'
import { acquireLock, type ManifestLock } from '../src/manifest/lock.ts'
import { newWriterId } from '../src/manifest/names.ts'
import { publishDataset } from '../src/run/dataset-copy.ts'
import { claimStore, configKey, type StoredRun } from '../src/run/stored-run.ts'
import { conditionalPuts } from '../src/store/conditional.ts'
import type { ObjectStore } from '../src/store/store.ts'
import type { Prepared } from './preflight.ts'

/** What is settled with the store before the first actor starts, in this order. */

export interface OpenedRun {
  readonly stored: StoredRun
  readonly lock: ManifestLock
}

/**
 * Whose store it is, and who holds it. The lock is to be renewed from here on.
 *
 * @throws  Failure `invalid`: the store is another run's, or cannot be used; `superseded`: another
 *          supervisor holds the run
 */
export async function openRun(
  store: ObjectStore,
  prepared: Prepared,
  log: Log,
): Promise<OpenedRun> {
  const { config, identity, plan } = prepared
  const { honoured } = await conditionalPuts(store)
  const stored = await claimStore(store, { identity, plan, targetPath: config.target.path })
  for (const change of stored.changes) {
    log.warn({ change }, 'the plan differs from the one the run began with: bits may differ too')
  }
  const lock = await acquireLock(store, thisHolder(newWriterId(systemClock, Math.random)), {
    clock: systemClock,
    isAlive,
    conditional: honoured,
    onWait: ({ holder, leftMs }) =>
      log.warn(
        { holder, waitMs: leftMs },
        'another machine held the run: waiting to see if it lives',
      ),
    onWarn: (warning) => log.warn(warning),
  })
  return { stored, lock }
}

/** What a new machine needs, where the store lacks it: the configuration and the dataset. */
export async function publishRun(
  store: ObjectStore,
  { config, dataset }: Prepared,
  log: Log,
): Promise<void> {
  const text = Buffer.from(configForStore(config))
  if (!(await store.get(configKey))?.equals(text)) await store.put(configKey, text)
  const fingerprint = datasetFingerprint(
    dataset,
    dataset.lengths(),
    config.dataset.columns.inputIds,
  ).toString('hex')
  const copy = { fingerprint, entry: dataset.entry, files: dataset.files() }
  const sent = await publishDataset(store, copy, ({ path, bytes }) =>
    log.info({ file: path, size: formatBytes(bytes) }, 'a file of the dataset is in the store'),
  )
  if (sent) log.info({ rows: dataset.rows }, 'the dataset is in the store')
}
