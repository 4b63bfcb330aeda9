/** What time it is by a store's clock: the age of what lies in it is counted by that. */
import { randomUUID } from 'node:crypto'
import { isFailure } from '../failure.ts'
import type { ObjectStore } from './store.ts'

/**
 * Puts an object of its own and removes it again: what the store stamps it with is now.
 *
 * @returns  milliseconds since the epoch; undefined where nothing may be put
 */
export async function timeBy(store: ObjectStore): Promise<number | undefined> {
  const key = `probe/${randomUUID()}`
  try {
    await store.put(key, Buffer.from('what time is it'))
  } catch (error) {
    if (isFailure(error, 'invalid')) return undefined
    throw error
  }
  try {
    return (await store.head(key))?.lastModified
  } finally {
    await store.remove(key)
  }
}
