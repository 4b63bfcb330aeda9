/** Whether a store honours conditional puts: some ignore the condition, and say so by no error. */
import { randomUUID } from 'node:crypto'
import { isFailure } from '../failure.ts'
import type { ObjectStore } from './store.ts'

/**
 * Tries it on an object of its own, which it removes.
 *
 * @throws Failure: the store takes no put at all
 */
export async function conditionalPuts(store: ObjectStore): Promise<{ readonly honoured: boolean }> {
  const key = `probe/${randomUUID()}`
  await store.put(key, Buffer.from('first'))
  try {
    const second = await store.putIfAbsent(key, Buffer.from('second'))
    const third = await store.putIfMatch(key, Buffer.from('third'), 'no-such-etag')
    return { honoured: !second && !third }
  } catch (error) {
    // It takes puts, as it just has: what it refuses is the condition.
    if (isFailure(error, 'invalid')) return { honoured: false }
    throw error
  } finally {
    await store.remove(key)
  }
}
