/** So many bytes at once, whoever wants them; in the order of asking. */
export class Budget {
  readonly #total: number
  #used = 0
  readonly #waiting: { readonly bytes: number; readonly go: () => void }[] = []

  constructor(total: number) {
    this.#total = total
  }

  /** Works once there is room; what is more than all there is has all of it to itself. */
  async with<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const share = Math.min(bytes, this.#total)
    await new Promise<void>((go) => {
      this.#waiting.push({ bytes: share, go })
      this.#admit()
    })
    try {
      return await work()
    } finally {
      this.#used -= share
      this.#admit()
    }
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (this.#used + next.bytes > this.#total) return
      this.#waiting.shift()
      this.#used += next.bytes
      next.go()
    }
  }
}
