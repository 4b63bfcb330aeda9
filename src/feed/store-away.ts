import { type Clock, sleep } from '../clock.ts'
import { explain, Failure, isFailure } from '../failure.ts'

/** Between two tries of one get, beside those that the store's own retries make. */
const pauseMs = 2000

interface AwayOptions {
  /** From the first failure on; then whoever waits is told. */
  readonly deadlineMs: number
  /** Told why it is away, and null when it is back. */
  readonly onChange: (why: string | null) => void
}

/**
 * Waits while the store is out of reach: then no sample is missing, and none is left out. All that
 * wait count as one, from the first failure to the next success.
 */
export class StoreAway {
  readonly #clock: Clock
  readonly #deadlineMs: number
  readonly #onChange: (why: string | null) => void
  #since: number | undefined
  #why: string | null = null

  constructor(clock: Clock, { deadlineMs, onChange }: AwayOptions) {
    this.#clock = clock
    this.#deadlineMs = deadlineMs
    this.#onChange = onChange
  }

  /** Why it is away; null while it is not. */
  get why(): string | null {
    return this.#why
  }

  /**
   * @throws  Failure `unavailable`: it was away past the deadline; what else `work` threw; the
   *          signal's reason
   */
  async until<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      signal.throwIfAborted()
      try {
        const value = await work()
        this.#back()
        return value
      } catch (error) {
        if (!isFailure(error, 'unavailable')) throw error
        this.#note(error)
        await sleep(pauseMs, this.#clock, signal)
      }
    }
  }

  #back(): void {
    this.#since = undefined
    if (this.#why === null) return
    this.#why = null
    this.#onChange(null)
  }

  #note(failure: Failure): void {
    const now = this.#clock.now()
    this.#since ??= now
    const seconds = Math.round((now - this.#since) / 1000)
    if (now - this.#since > this.#deadlineMs) {
      throw new Failure('unavailable', `the store stays out of reach. seconds=${seconds}`, {
        cause: failure,
        ...(failure.remedy !== undefined && { remedy: failure.remedy }),
      })
    }
    const isNew = this.#why === null
    this.#why = explain(failure)
    if (isNew) this.#onChange(this.#why)
  }
}
