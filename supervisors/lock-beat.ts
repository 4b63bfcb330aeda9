import { type Clock, every, systemClock, within } from '../src/clock.ts'
import { explain, isFailure } from '../src/failure.ts'
import type { Log } from '../src/log.ts'
import type { ManifestLock } from '../src/manifest/lock.ts'

/** Keeps the run's lock while the run lasts, and gives it back when it ends. */

/** A lock that stays is seen to be stale; nobody who ends waits longer to spare others that. */
const releaseMs = 15_000

export interface LockBeat {
  /** Stops beating, and removes the lock where the store lets it. Never rejects for the store. */
  release(): Promise<void>
}

/** @param onLost  called when another has taken the run over */
export function keepLock(
  lock: ManifestLock,
  {
    log,
    onLost,
    clock = systemClock,
  }: { readonly log: Log; readonly onLost: () => void; readonly clock?: Clock },
): LockBeat {
  let beating: Promise<void> | undefined
  const beat = async () => {
    try {
      await lock.renew()
    } catch (error) {
      if (!isFailure(error)) throw error
      log.warn({ reason: explain(error) }, 'the lock was not renewed')
      if (error.kind === 'superseded') onLost()
    } finally {
      beating = undefined
    }
  }
  // One at a time: to a store that is slow, beats would pile up.
  const stop = every(lock.beatMs, clock, () => {
    beating ??= beat()
  })
  const remove = async () => {
    // One that is under way would write the lock again after its removal.
    await beating
    await lock.release()
  }
  return {
    async release() {
      stop()
      try {
        await within(releaseMs, 'the release of the lock', remove(), clock)
      } catch (error) {
        if (!isFailure(error)) throw error
        log.warn({ reason: explain(error) }, 'the lock stays, and will be seen to be stale')
      }
    },
  }
}
