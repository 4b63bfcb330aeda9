/** Whether a store honours conditional puts: some ignore the condition, and say so by no error. */
import { randomUUID } from 'node:crypto'
import { isFailure } from '../failure.ts'
import type { ObjectStore } from './store.ts'

/** What a store does with the conditions of a put. */
export interface Conditions {
  /** `putIfAbsent` leaves what is there. */
  readonly ifNoneMatch: boolean
  /** `putIfMatch` replaces what has the etag, and nothing else. */
  readonly ifMatch: boolean
}

/**
 * Tries it on an object of its own, which it removes.
 *
 * @throws Failure: the store takes no put at all
 */
export async function conditionalPuts(store: ObjectStore): Promise<{ readonly honoured: boolean }> {
  const key = `probe/${randomUUID()}`
  await store.put(key, Buffer.from('first'))
  try {
    const { ifNoneMatch, ifMatch } = await tryConditions(store, key)
    return { honoured: ifNoneMatch && ifMatch }
  } finally {
    await store.remove(key)
  }
}

/** @param key  of an object that is there, and may be replaced */
export async function tryConditions(store: ObjectStore, key: string): Promise<Conditions> {
  const ifNoneMatch = await unlessRefused(
    async () => !(await store.putIfAbsent(key, Buffer.from('second'))),
  )
  const ifMatch = await unlessRefused(async () => {
    if (await store.putIfMatch(key, Buffer.from('third'), 'no-such-etag')) return false
    const etag = (await store.head(key))?.etag
    return etag !== undefined && (await store.putIfMatch(key, Buffer.from('fourth'), etag))
  })
  return { ifNoneMatch, ifMatch }
}

/** It takes puts, as it just has: what it refuses is the condition. */
async function unlessRefused(honours: () => Promise<boolean>): Promise<boolean> {
  try {
    return await honours()
  } catch (error) {
    if (isFailure(error, 'invalid')) return false
    throw error
  }
}
