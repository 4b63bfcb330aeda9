import { systemClock } from '../src/clock.ts'
import type { S3Config } from '../src/config/schema.ts'
import { Failure } from '../src/failure.ts'
import { type Log, openLog } from '../src/log.ts'
import { isAlive, thisHolder } from '../src/manifest/holder.ts'
import { acquireLock, type ManifestLock } from '../src/manifest/lock.ts'
import { newWriterId } from '../src/manifest/names.ts'
import type { Run } from '../src/run/identity.ts'
import { requireRun } from '../src/run/stored-run.ts'
import { conditionalPuts } from '../src/store/conditional.ts'
import type { Acquire } from '../src/store/limited.ts'
import { type StorePlace, soleStore } from '../src/store/patient.ts'
import type { ObjectStore } from '../src/store/store.ts'
import { keepLock } from './lock-beat.ts'
import { consoleTarget } from './log-target.ts'

/** A store, as the commands use it that look after one: some of them with the run's lock. */

/** How a command is told where a bucket is. */
export interface StoreOptions {
  readonly endpoint?: string | undefined
  readonly region?: string | undefined
}

/** What was given is taken; of the rest, what the AWS variables say. */
export function s3Here(options: StoreOptions): Partial<S3Config> {
  const { AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_DEFAULT_REGION } = process.env
  return s3Given({
    endpoint: options.endpoint ?? (AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL || undefined),
    region: options.region ?? (AWS_REGION || AWS_DEFAULT_REGION || undefined),
  })
}

export const s3Given = ({ endpoint, region }: StoreOptions): Partial<S3Config> => ({
  ...(endpoint !== undefined && { endpoint }),
  ...(region !== undefined && { region }),
})

/** How long a store is waited for that was there a moment ago. */
const awayMs = 5 * 60_000
/** A store that stumbles is not spoken of; one that stays away is, now and then. */
const quietTries = 4
const sayMs = 30_000

/**
 * The store of a run, as a command beside the run uses it. One that cannot be reached is told of
 * within seconds; one that could is waited for.
 *
 * @throws  Failure `unavailable`: it does not answer; `invalid`: it holds no run; `corrupt`
 */
export async function storeOfRun(
  place: StorePlace,
  { actor, acquire }: { readonly actor: string; readonly acquire: Acquire },
): Promise<{ readonly store: ObjectStore; readonly run: Run }> {
  const hasty = await soleStore(place, { acquire })
  const run = await requireRun(hasty).finally(() => hasty.close())
  const log = openLog({ ...consoleTarget, actor })
  let saidAt = Number.NEGATIVE_INFINITY
  const store = await soleStore(place, {
    acquire,
    attempts: Number.POSITIVE_INFINITY,
    deadlineMs: awayMs,
    onRetry: ({ failure, attempt }) => {
      if (attempt < quietTries || systemClock.now() - saidAt < sayMs) return
      saidAt = systemClock.now()
      log.warn({ err: failure }, 'the store does not answer: waiting for it')
    },
  })
  return { store, run }
}

/**
 * Takes the run's lock, waiting for a holder elsewhere to show whether it lives.
 *
 * @throws  Failure `superseded`: another supervisor holds the run
 */
export function takeLock(
  store: ObjectStore,
  { conditional, log }: { readonly conditional: boolean; readonly log: Log },
): Promise<ManifestLock> {
  return acquireLock(store, thisHolder(newWriterId(systemClock, Math.random)), {
    clock: systemClock,
    isAlive,
    conditional,
    onWait: ({ holder, leftMs }) =>
      log.warn(
        { holder, waitMs: leftMs },
        'another machine held the run: waiting to see if it lives',
      ),
    onWarn: (warning) => log.warn(warning),
  })
}

/** Throws once the run is another's, or may be without our having been told. */
export type StillHeld = () => void

/**
 * Permits for what cannot be undone: each try asks anew whether the run is still held. A request
 * that broke off while the process was suspended is not sent again then.
 */
export const whenHeld =
  (acquire: Acquire, stillHeld: StillHeld): Acquire =>
  async () => {
    const release = await acquire()
    try {
      stillHeld()
      return release
    } catch (error) {
      release('lost')
      throw error
    }
  }

/**
 * Works on a store while no supervisor does.
 *
 * @param work  calls what it is given before each thing that cannot be undone
 * @throws      Failure `superseded`: another supervisor holds the run, or has taken it over;
 *              `unavailable`: the lock was not renewed in time to be sure that none has
 */
export async function whileHeld<T>(
  store: ObjectStore,
  actor: string,
  work: (stillHeld: StillHeld) => Promise<T>,
): Promise<T> {
  const log = openLog({ ...consoleTarget, actor })
  const { honoured } = await conditionalPuts(store)
  const lock = await takeLock(store, { conditional: honoured, log })
  let isLost = false
  const beat = keepLock(lock, {
    log,
    onLost: () => {
      isLost = true
    },
  })
  try {
    return await work(() => {
      if (isLost) throw takenOver(actor)
      lock.requireFresh()
    })
  } finally {
    await beat.release()
  }
}

const takenOver = (actor: string): Failure =>
  new Failure('superseded', `another supervisor has taken the run over. command=${actor}`, {
    remedy: 'Let it end, then call this again.',
  })
