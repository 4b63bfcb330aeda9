import type { ObjectInfo, ObjectStore } from './store.ts'

/** A whole listing, page after page: what every store's `list` is made of. */
export async function* allPages(
  store: Pick<ObjectStore, 'listPage'>,
  prefix: string,
): AsyncGenerator<ObjectInfo> {
  let page = await store.listPage({ prefix })
  yield* page.objects
  while (page.next !== undefined) {
    page = await store.listPage({ prefix, from: page.next })
    yield* page.objects
  }
}
