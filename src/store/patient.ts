import { type Clock, type Random, systemClock } from '../clock.ts'
import type { Log } from '../log.ts'
import { type Acquire, limited } from './limited.ts'
import { marked } from './marked.ts'
import { openStore } from './open.ts'
import { Permits } from './permits.ts'
import { type Retry, type RetryOptions, retrying } from './retry.ts'
import type { S3Options } from './s3-connection.ts'
import type { ObjectStore } from './store.ts'

/** Which store, as the configuration names it. */
export interface StorePlace {
  readonly url: string
  readonly s3: S3Options
  /** Key of an object that it holds for as long as it is there: see `marked`. */
  readonly mark?: string
}

interface Use extends Pick<RetryOptions, 'attempts' | 'deadlineMs' | 'onRetry'> {
  readonly acquire: Acquire
  /** Told at the end of each try of a request, whatever came of it: a sign of life. */
  readonly onTried?: () => void
  /** Where each further try is noted, unless `onRetry` does. */
  readonly log?: Log
  /** What is asked, and by which clock and chance it is asked again; default: the real ones. */
  readonly around?: {
    readonly clock: Clock
    readonly random: Random
    readonly openStore: (place: StorePlace) => Promise<ObjectStore>
  }
}

interface SoleUse extends Partial<Use> {
  readonly maxParallel?: number
}

const real: NonNullable<Use['around']> = {
  clock: systemClock,
  random: Math.random,
  openStore: ({ url, s3 }) => openStore(url, s3),
}

/** The store as every part of a run uses it: a permit for each request, and retries around that. */
export async function patientStore(place: StorePlace, use: Use): Promise<ObjectStore> {
  const note = ({ failure, attempt }: Retry) =>
    use.log?.debug({ err: failure, attempt }, 'asked again')
  const { around = real } = use
  const bare = await around.openStore(place)
  const store = place.mark === undefined ? bare : marked(bare, place.mark)
  const { acquire, onTried } = use
  return retrying(limited(store, onTried ? telling(acquire, onTried) : acquire), {
    onRetry: note,
    ...use,
    clock: around.clock,
    random: around.random,
  })
}

const telling =
  (acquire: Acquire, tried: () => void): Acquire =>
  async () => {
    const release = await acquire()
    return (outcome) => {
      release(outcome)
      tried()
    }
  }

/** Permits of one who has no ledger to ask. */
export const solePermits = (maxParallel: number): Acquire =>
  new Permits(maxParallel).taker('sole', 'sample')

/**
 * The same for one who uses the store alone, with no ledger to ask: the permits are its own.
 *
 * @param maxParallel  requests open at once, however many the caller begins
 * @param acquire      in place of that: permits that several stores share
 */
export async function soleStore(
  place: StorePlace,
  { maxParallel = 100, acquire = solePermits(maxParallel), ...use }: SoleUse = {},
): Promise<ObjectStore> {
  return await patientStore(place, { attempts: 5, ...use, acquire })
}
