/** A request that is given up ends when its socket is closed: that takes no longer. */
const closingMs = 1_000

export interface DeadlineRule {
  /** For a whole attempt, beside the time its bytes take at `bytesPerSecondMin`. */
  readonly attemptMs: number
  readonly bytesPerSecondMin: number
}

/**
 * The time for one attempt at a request. Whoever does the work learns that it is over by `signal`,
 * or by `onPassed`: an AbortSignal for each of a million puts costs more than their timers do.
 */
export class Deadline {
  readonly #rule: DeadlineRule
  /** The caller's wish to give up: the deadline has passed then, too. */
  readonly #given: AbortSignal | undefined
  readonly #pass = (): void => this.#passed()
  #timer: NodeJS.Timeout | undefined
  #controller: AbortController | undefined
  #listener: (() => void) | undefined
  #lose: ((reason: unknown) => void) | undefined
  #isPassed = false

  constructor(rule: DeadlineRule, given?: AbortSignal) {
    this.#rule = rule
    this.#given = given
    given?.addEventListener('abort', this.#pass, { once: true })
    if (given?.aborted) this.#isPassed = true
  }

  /** From now on there is time for so many bytes. */
  allowFor(bytes: number): void {
    clearTimeout(this.#timer)
    const { attemptMs, bytesPerSecondMin } = this.#rule
    this.#timer = setTimeout(this.#pass, attemptMs + (bytes / bytesPerSecondMin) * 1000)
  }

  /** Aborts when it passes. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isPassed) this.#controller.abort(this.#given?.reason)
    return this.#controller.signal
  }

  /** Calls the listener when it passes, or now; in place of the one before. */
  onPassed(listener: (() => void) | undefined): void {
    this.#listener = listener
    if (this.#isPassed) listener?.()
  }

  /** The work's end; the reason why it is given up, where it does not end soon after that. */
  settled<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#lose = reject
      work.then(
        (value) => {
          this.#over()
          resolve(value)
        },
        (error: unknown) => {
          this.#over()
          reject(error)
        },
      )
    })
  }

  #passed(): void {
    this.#isPassed = true
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#lose?.(this.signal.reason), closingMs)
    this.#controller?.abort(this.#given?.reason)
    this.#listener?.()
  }

  #over(): void {
    clearTimeout(this.#timer)
    this.#given?.removeEventListener('abort', this.#pass)
  }
}
