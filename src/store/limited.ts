import { isFailure } from '../failure.ts'
import { eachRequest } from './each-request.ts'
import type { ObjectStore } from './store.ts'
import { Throttled } from './throttled.ts'

/**
 * How a request ended, for whoever says how many may be open: `answered`, be it by a refusal;
 * `throttled`, because the store has too much to do; `lost`, which tells nothing of its load.
 */
export type Outcome = 'answered' | 'throttled' | 'lost'

/** Ends what was acquired; a second call changes nothing. */
export type Release = (outcome: Outcome) => void

/** Settles when one more request may be open; what it gives ends that. */
export type Acquire = () => Promise<Release>

/**
 * One permit for each request, from before it opens until it is over, however it ends. Belongs
 * inside `retrying`, so that nobody holds a permit while it waits to try again.
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
