/** How long the forward passes of one kind take. */
export class Stopwatch {
  readonly #times: number[] = []

  async time<T>(pass: () => Promise<T>): Promise<T> {
    const before = performance.now()
    const result = await pass()
    this.#times.push(performance.now() - before)
    return result
  }

  /** Milliseconds; null where there was none. */
  get median(): number | null {
    const sorted = this.#times.toSorted((a, b) => a - b)
    const middle = sorted.length >> 1
    if (sorted.length === 0) return null
    return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}
