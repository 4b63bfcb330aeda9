import { eachRequest } from './each-request.ts'
import type { ObjectStore } from './store.ts'

/** Settles when one more request may be open; what it gives ends that. */
export type Acquire = () => Promise<() => void>

/**
 * One permit for each request, from before it opens until it is over, however it ends. Belongs
 * inside `retrying`, so that nobody holds a permit while it waits to try again.
 */
export function limited(store: ObjectStore, acquire: Acquire): ObjectStore {
  return eachRequest(store, async (work, signal) => {
    const release = await acquire()
    try {
      // Its turn may have come after the caller had given up.
      signal?.throwIfAborted()
      return await work()
    } finally {
      release()
    }
  })
}
