/**
 * A folder whose disk is not mounted is an empty one: it lacks whatever it is asked for, and takes
 * whatever it is given. What is answered counts only while the folder holds what marks it.
 */
import { Failure } from '../failure.ts'
import { eachRequest } from './each-request.ts'
import type { ObjectStore } from './store.ts'

/**
 * Belongs inside `retrying`: the disk may come back. A bucket is not mounted, and comes back as it
 * is given.
 *
 * @param mark  key of an object that lies there as long as the store is the one that is meant
 */
export function marked(store: ObjectStore, mark: string): ObjectStore {
  if (!store.url.startsWith('file:')) return store
  const require = async () => {
    if (await store.head(mark)) return
    throw new Failure(
      'unavailable',
      `the folder is not the store. store=${store.url}, lacks=${mark}`,
      {
        remedy: 'See that its disk is mounted, and that nobody moved it.',
      },
    )
  }
  return eachRequest(store, async (work) => {
    // Before, so that nothing is left under a mount point; after, for it may be gone meanwhile.
    await require()
    const value = await work().catch(async (error: unknown) => {
      await require()
      throw error
    })
    await require()
    return value
  })
}
