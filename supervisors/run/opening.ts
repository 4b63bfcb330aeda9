import { wholeNamed } from '../../src/checkpoint/restore.ts'
import { type Clock, within } from '../../src/clock.ts'
import { configForStore } from '../../src/config/load.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import { datasetFingerprint } from '../../src/dataset/fingerprint.ts'
import type { DiskUse } from '../../src/disk.ts'
import type { Log } from '../../src/log.ts'
import type { ManifestLock } from '../../src/manifest/lock.ts'
import { publishDataset } from '../../src/run/dataset-copy.ts'
import { claimStore, configKey, runKey, type StoredRun } from '../../src/run/stored-run.ts'
import { conditionalPuts } from '../../src/store/conditional.ts'
import { probeConfirmation, rungText } from '../../src/store/confirm.ts'
import { marked } from '../../src/store/marked.ts'
import { abortUploads } from '../../src/store/open-upload.ts'
import { putBytes } from '../../src/store/put-confirmed.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { realSurroundings, type Surroundings } from '../../src/surroundings.ts'
import { type LockSurroundings, takeLock } from '../held-store.ts'
import { takeSpool, type Waiting } from './own-spool.ts'
import type { Prepared } from './preflight.ts'

/** What is settled with the store before the first actor starts, in this order. */

/** Under them the run, which holds the lock, is the only one that uploads in parts. */
const uploadedPrefixes = ['dataset/', 'hidden-states/', 'checkpoints/']
/** An upload that is older than this is no rival's that the lock could not keep away. */
const rivalMs = 24 * 3_600_000
/** A store that does not answer is not waited for: the next start puts right what is left. */
const abortMs = 5_000

export interface OpenedRun {
  readonly stored: StoredRun
  /** The store, from now on believed only while the run lies there. */
  readonly store: ObjectStore
  readonly lock: ManifestLock
  /** False where the store honours no conditions: another may hold the lock too, unseen. */
  readonly alone: boolean
  /** It refuses a body that has not the CRC-32 that is sent with it: see `Proof`. */
  readonly storeSums: boolean
}

export interface Opening {
  /**
   * @throws  Failure `invalid`: store or spool is another run's, or cannot be used; `superseded`:
   *          another supervisor holds the run
   */
  readonly done: Promise<OpenedRun>
  /** Ends it: nothing more is begun, and a lock that was taken is given back. */
  abort(): Promise<void>
}

interface OpeningParts {
  readonly log: Log
  readonly around: DiskUse & LockSurroundings & Pick<Surroundings, 'clock'>
}

/** Whose store and spool these are, and who holds the run; its lock is to be renewed once done. */
export function openRun(bare: ObjectStore, prepared: Claiming, parts: OpeningParts): Opening {
  const stopping = new AbortController()
  const done = claimed(bare, prepared, { ...parts, signal: stopping.signal })
  const letGo = () => done.then(({ lock }) => lock.release())
  return { done, abort: () => endedSoon(stopping, letGo, parts.around.clock) }
}

/** Of what is prepared, what is claimed. */
type Claiming = Pick<Prepared, 'config' | 'identity' | 'plan' | 'training'>

async function claimed(
  bare: ObjectStore,
  { config, identity, plan, training }: Claiming,
  { log, around, signal }: OpeningParts & { readonly signal: AbortSignal },
): Promise<OpenedRun> {
  // Nothing is put for the sake of a name that is none.
  if (training && training.from !== null) await wholeNamed(bare, training.from)
  const { honoured } = await conditionalPuts(bare)
  const { rung, refuses } = await probeConfirmation(bare)
  log.info({ rung, refuses }, `objects are confirmed ${rungText[rung]}`)
  signal.throwIfAborted()
  const stored = await claimStore(bare, { identity, plan, targetPath: config.target.path })
  for (const change of stored.changes) {
    log.warn({ change }, 'the plan differs from the one the run began with: bits may differ too')
  }
  signal.throwIfAborted()
  warnOfUnknown(await takeSpool(config.work, stored.run.id, around), log)
  const store = marked(bare, runKey)
  const lock = await takeLock(store, { conditional: honoured, log, around, signal })
  return { stored, store, lock, alone: honoured, storeSums: refuses }
}

/** Of something that waits for a store: it is told to end, and waited for a while. */
async function endedSoon(
  stopping: AbortController,
  ended: () => Promise<unknown>,
  clock: Clock | undefined,
): Promise<void> {
  stopping.abort()
  await within(abortMs, 'the end of what was begun', ended(), clock).catch(() => undefined)
}

function warnOfUnknown({ samples, run }: Waiting, log: Log): void {
  if (samples === 0 || run !== undefined) return
  log.warn({ samples }, 'nothing says of which run the spooled samples are: taken as this one’s')
}

export interface Publishing {
  readonly done: Promise<void>
  /** Ends it, with no upload left open where the store is there to be told. */
  abort(): Promise<void>
}

interface PublishOptions {
  readonly log: Log
  /** Whether the lock keeps every other supervisor away. */
  readonly alone: boolean
  /** Default: the machine's clocks. */
  readonly around?: Pick<Surroundings, 'clock' | 'wall'>
}

/**
 * What a new machine needs, where the store lacks it: the configuration and the dataset. Then what
 * earlier starts left half uploaded is aborted.
 */
export function publishRun(
  store: ObjectStore,
  prepared: Prepared,
  options: PublishOptions,
): Publishing {
  const stopping = new AbortController()
  const done = publish(store, prepared, { ...options, signal: stopping.signal })
  return { done, abort: () => endedSoon(stopping, () => done, options.around?.clock) }
}

async function publish(
  store: ObjectStore,
  { config, dataset }: Prepared,
  {
    log,
    signal,
    alone,
    around = realSurroundings,
  }: PublishOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const text = Buffer.from(configForStore(config))
  if (!(await store.get(configKey))?.equals(text)) await putBytes(store, configKey, text)
  const fingerprint = datasetFingerprint(
    dataset,
    dataset.lengths(),
    config.dataset.columns.inputIds,
  ).toString('hex')
  const copy = { fingerprint, entry: dataset.entry, files: dataset.files() }
  const sent = await publishDataset(store, copy, {
    signal,
    progress: ({ path, bytes, confirmedBy }) =>
      log.info(
        { file: path, size: formatBytes(bytes), rung: confirmedBy },
        'a file of the dataset is in the store',
      ),
  })
  if (sent) log.info({ rows: dataset.rows }, 'the dataset is in the store')
  const before = alone ? undefined : around.wall.now() - rivalMs
  for (const prefix of uploadedPrefixes) {
    for (const key of await abortUploads(store, prefix, before)) {
      log.warn({ key }, 'aborted an upload in parts that an earlier start left open')
    }
  }
}
