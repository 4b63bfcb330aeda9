import { crc32 } from 'node:zlib'
import { isFailure } from '../failure.ts'
import { confirm, type Rung, type Sent } from './confirm.ts'
import type { ObjectStore } from './store.ts'

/** A body that arrives damaged once may have been the line; twice, it is the store. */
const triesMax = 2

/** Does it once more where what arrived is not what was sent. */
export async function sentAgain<T>(send: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await send()
    } catch (error) {
      if (tries === triesMax || !isFailure(error, 'corrupt')) throw error
    }
  }
}

/**
 * Puts an object in one request, and proves that the store holds it.
 *
 * @returns  what proved it
 * @throws   Failure, as the store throws it; `corrupt`: it keeps something else, twice
 */
export const putConfirmed = (
  store: ObjectStore,
  key: string,
  sent: Sent & { readonly signal?: AbortSignal | undefined },
): Promise<Rung> =>
  sentAgain(async () => {
    const { body, crc32, signal } = sent
    const said = await store.put(key, body, { crc32, ...(signal && { signal }) })
    return await confirm(store, key, said, sent)
  })

/** The same of a few bytes. */
export const putBytes = (store: ObjectStore, key: string, bytes: Uint8Array): Promise<Rung> =>
  putConfirmed(store, key, { body: bytes, crc32: crc32(bytes), size: bytes.length })
