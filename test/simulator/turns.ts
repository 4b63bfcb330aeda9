/**
 * Turns of this thread, in each of which all promises settle. Between two immediates of one batch
 * Node lets them settle as it does between two turns of its own loop, which cost much more.
 */

const batch = 64

/** Until one says that it was the last; rejects with what one throws. */
export function eachTurn(turn: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const one = () => {
      if (isOver) return
      try {
        isOver = turn()
        if (isOver) resolve()
      } catch (error) {
        isOver = true
        reject(error)
      }
    }
    const more = () => {
      if (isOver) return
      for (let left = batch; left > 0; left--) setImmediate(one)
      setImmediate(more)
    }
    more()
  })
}
