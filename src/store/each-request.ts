/** What wrappers of a store have in common: every request goes through one function. */
import { allPages } from './pages.ts'
import type { MultipartUpload, ObjectStore } from './store.ts'

/** Calls `work` once, or again, or later; `signal` is the caller's wish to give up. */
export type Around = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>

export function eachRequest(store: ObjectStore, around: Around): ObjectStore {
  const wrapped: ObjectStore = {
    url: store.url,
    put: (key, body, options) => around(() => store.put(key, body, options), options?.signal),
    putIfAbsent: (key, body, options) =>
      around(() => store.putIfAbsent(key, body, options), options?.signal),
    putIfMatch: (key, body, etag, options) =>
      around(() => store.putIfMatch(key, body, etag, options), options?.signal),
    get: (key, range) => around(() => store.get(key, range)),
    head: (key) => around(() => store.head(key)),
    list: (prefix) => allPages(wrapped, prefix),
    listPage: (ask) => around(() => store.listPage(ask)),
    remove: (key) => around(() => store.remove(key)),
    startMultipart: async (key) => eachPart(await around(() => store.startMultipart(key)), around),
    openMultiparts: async (prefix) => {
      const open = await around(() => store.openMultiparts(prefix))
      return open.map((upload) => eachPart(upload, around))
    },
    close: () => store.close(),
  }
  return wrapped
}

const eachPart = (upload: MultipartUpload, around: Around): MultipartUpload => ({
  key: upload.key,
  id: upload.id,
  ...(upload.startedAt !== undefined && { startedAt: upload.startedAt }),
  putPart: (number, body, options) =>
    around(() => upload.putPart(number, body, options), options?.signal),
  listParts: () => around(() => upload.listParts()),
  complete: (parts, whole) => around(() => upload.complete(parts, whole)),
  abort: () => around(() => upload.abort()),
})
