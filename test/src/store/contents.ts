/** What tests put into a store, and find there. */
import type { ObjectInfo } from '../../../src/store/store.ts'

/** Bytes that differ from each other, the same for the same size. */
export const filler = (size: number): Buffer => {
  const bytes = Buffer.alloc(size)
  for (let i = 0; i < size; i++) bytes[i] = (i * 31 + (i >> 8)) & 255
  return bytes
}

export async function keysOf(listing: AsyncIterable<ObjectInfo>): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of listing) keys.push(key)
  return keys
}
