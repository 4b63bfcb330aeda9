import { isFailure } from '../failure.ts'
import { eachRequest } from './each-request.ts'
import type { ObjectStore } from './store.ts'
import { Throttled } from './throttled.ts'

/**
 * How a request ended, for whoever says how many may be open: `answered`, be it by a refusal;
 * `throttled`, because the store has too much to do; `lost`, which tells nothing of its load.
 */
export type Outcome = 'answered' | 'throttled' | 'lost'

/** Tells how the request ended; a second call changes nothing. */
export type Release = (outcome: Outcome) => void

/** Settles when one more request may be open; what it gives tells that the request is over. */
export type Acquire = () => Promise<Release>

/**
 * No request without a permit of its own, from before it opens until it is over, however it ends.
 * Belongs inside `retrying`, so that a request that waits to be tried again keeps none.
 */
export function limited(store: ObjectStore, acquire: Acquire): ObjectStore {
  return eachRequest(store, async (work, signal) => {
    const release = await acquire()
    let outcome: Outcome = 'lost'
    try {
      // Its turn may have come after the caller had given up.
      signal?.throwIfAborted()
      const value = await work()
      outcome = 'answered'
      return value
    } catch (error) {
      outcome = outcomeOf(error)
      throw error
    } finally {
      release(outcome)
    }
  })
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof Throttled) return 'throttled'
  return isFailure(error) && error.kind !== 'unavailable' ? 'answered' : 'lost'
}
