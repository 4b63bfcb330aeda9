/** Many small works, some at once; their items are made one by one, never all in memory. */

/**
 * Rejects with the first work that failed; what was under way ends, nothing new begins.
 *
 * @param parallel  works under way at once, at most
 */
export async function eachOf<T>(
  items: Iterable<T>,
  parallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]()
  let failed = false
  const runner = async () => {
    for (let next = queue.next(); !failed && !next.done; next = queue.next()) {
      try {
        await work(next.value)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: parallel }, runner))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/**
 * The results of works of which some are under way at once, in the order of their items. Where one
 * fails, or no more are wanted, those under way are waited for and nothing new begins.
 *
 * @param parallel  works that have begun and whose results were not yet taken, at most
 */
export async function* inOrder<T, R>(
  items: Iterable<T>,
  parallel: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void> {
  const queue = items[Symbol.iterator]()
  const underWay: Promise<R>[] = []
  const begin = () => {
    const next = queue.next()
    if (next.done) return
    const result = work(next.value)
    // It is asked for when its turn comes.
    result.catch(() => undefined)
    underWay.push(result)
  }
  for (let i = 0; i < parallel; i++) begin()
  try {
    for (let result = underWay.shift(); result; result = underWay.shift()) {
      yield await result
      begin()
    }
  } finally {
    await Promise.allSettled(underWay)
  }
}
