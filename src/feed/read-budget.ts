/**
 * Memory for what is read ahead: one account for all who read, of what is under way and of what
 * waits to be asked for. What somebody waits for comes first: what was only read ahead makes way.
 */
export class ReadBudget {
  readonly #bytesMax: number
  #held = 0
  /** Of what is held: given up, though its reading has not ended yet. */
  #leaving = 0
  readonly #holders: (() => boolean)[] = []
  #waiting: (() => void)[] = []

  /** @param bytesMax  of all together; one that is larger is held alone */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get held(): number {
    return this.#held
  }

  /** @param giveUp  gives up one thing that nobody waits for; false where there is none */
  addHolder(giveUp: () => boolean): void {
    this.#holders.push(giveUp)
  }

  /** Whether there is room now. */
  fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#bytesMax
  }

  take(bytes: number): void {
    this.#held += bytes
  }

  give(bytes: number): void {
    this.#held -= bytes
    this.changed()
  }

  /** It is held until its reading has ended. */
  giveAfter(bytes: number, reading: Promise<unknown>): void {
    this.#leaving += bytes
    const over = () => {
      this.#leaving -= bytes
      this.give(bytes)
    }
    reading.then(over, over)
  }

  /** Makes way for so many bytes; resolves when there may be room, or more to be given up. */
  async room(bytes: number): Promise<void> {
    while (this.#held - this.#leaving + bytes > this.#bytesMax) {
      if (!this.#holders.some((giveUp) => giveUp())) break
    }
    if (!this.fits(bytes)) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Those who wait for room look again. */
  changed(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
