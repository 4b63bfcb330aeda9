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
