import { eachRequest } from '../../../src/store/each-request.ts'
import type { ListPage, ObjectStore } from '../../../src/store/store.ts'

/** In milliseconds since the epoch. */
export const now = 1_800_000_000_000

/** The store, as if each object were as old as `ageOf` says of its key. */
export const aged = (store: ObjectStore, ageOf: (key: string) => number): ObjectStore =>
  eachRequest(store, async (work) => {
    const value = await work()
    if (!isPage(value)) return value
    const objects = value.objects.map((info) => ({ ...info, lastModified: now - ageOf(info.key) }))
    return { ...value, objects }
  })

const isPage = (value: unknown): value is ListPage =>
  typeof value === 'object' && value !== null && 'objects' in value
