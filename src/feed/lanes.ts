/** Works that are begun in the order they came, so many at once, with so many bytes in hand. */
export class Lanes {
  readonly #bytesMax: number
  #free: number
  #bytes = 0
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = []

  /** @param bytesMax  of all works under way; one that is larger runs alone */
  constructor({ count, bytesMax }: { readonly count: number; readonly bytesMax: number }) {
    this.#free = count
    this.#bytesMax = bytesMax
  }

  /**
   * @param bytes  what the work takes in memory
   * @throws       the signal's reason, where it is aborted before the work begins; what that threw
   */
  async run<T>(work: () => Promise<T>, bytes: number, signal: AbortSignal): Promise<T> {
    await new Promise<void>((begin) => {
      this.#waiting.push({ bytes, begin })
      this.#serve()
    })
    try {
      signal.throwIfAborted()
      return await work()
    } finally {
      this.#free++
      this.#bytes -= bytes
      this.#serve()
    }
  }

  /** In turn: a big one is not overtaken by those behind it. */
  #serve(): void {
    for (let next = this.#waiting[0]; next && this.#mayBegin(next); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#free--
      this.#bytes += next.bytes
      next.begin()
    }
  }

  #mayBegin({ bytes }: { readonly bytes: number }): boolean {
    return this.#free > 0 && (this.#bytes === 0 || this.#bytes + bytes <= this.#bytesMax)
  }
}
