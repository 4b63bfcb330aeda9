import { Failure } from '../src/failure.ts'
import { type Log, openLog } from '../src/log.ts'
import { isAlive, thisHolder } from '../src/manifest/holder.ts'
import { acquireLock, type ManifestLock } from '../src/manifest/lock.ts'
import { newWriterId } from '../src/manifest/names.ts'
import { conditionalPuts } from '../src/store/conditional.ts'
import type { Acquire } from '../src/store/limited.ts'
import type { ObjectStore } from '../src/store/store.ts'
import { realSurroundings, type Surroundings } from '../src/surroundings.ts'
import { keepLock } from './lock-beat.ts'
import { consoleTarget } from './log-target.ts'

/** The run's lock, as a run takes it, and the commands that look after its store. */

/** Where a lock is taken from: the machine, and its processes. */
export interface LockSurroundings extends Pick<Surroundings, 'wall' | 'random' | 'monotonic'> {
  readonly holder: typeof thisHolder
  readonly isAlive: typeof isAlive
}

const here: LockSurroundings = { ...realSurroundings, holder: thisHolder, isAlive }

interface LockWish {
  /** Whether the store honours conditions. */
  readonly conditional: boolean
  readonly log: Log
  readonly around?: LockSurroundings
  /** Ends the wait for another to show whether it lives. */
  readonly signal?: AbortSignal
}

/**
 * Takes the run's lock, waiting for a holder elsewhere to show whether it lives.
 *
 * @throws  Failure `superseded`: another supervisor holds the run
 */
export function takeLock(
  store: ObjectStore,
  { conditional, log, around = here, signal }: LockWish,
): Promise<ManifestLock> {
  const { holder, isAlive, monotonic, random, wall } = around
  return acquireLock(store, holder(newWriterId(wall, random)), {
    clock: wall,
    monotonic,
    isAlive,
    conditional,
    ...(signal && { signal }),
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
