/** A request that is given up ends when its socket is closed: that takes no longer. */
const closingMs = 1_000

/** The work's end; the signal's reason where the work does not end soon after the signal. */
export function settledBy<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const waitForClosing = () => {
      timer = setTimeout(() => reject(signal.reason), closingMs)
    }
    signal.addEventListener('abort', waitForClosing, { once: true })
    const clear = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', waitForClosing)
    }
    work.finally(clear).then(resolve, reject)
  })
}
