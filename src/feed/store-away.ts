import { type Clock, sleep } from '../clock.ts'
import { explain, Failure, isFailure } from '../failure.ts'

/** Between two tries of one request, beside those that the store's own retries make. */
const pauseMs = 2000

interface AwayOptions {
  /** From a request's first failure on; then whoever waits for it is told. */
  readonly deadlineMs: number
  /** Told why the store is away, and null when it is back. */
  readonly onChange: (why: string | null) => void
}

/** Waits while the store is out of reach: then no sample is missing, and none is left out. */
export class StoreAway {
  readonly #clock: Clock
  readonly #options: AwayOptions
  #why: string | null = null

  constructor(clock: Clock, options: AwayOptions) {
    this.#clock = clock
    this.#options = options
  }

  /** Why it is away, as the last request found it; null while it is not. */
  get why(): string | null {
    return this.#why
  }

  /**
   * @throws  Failure `unavailable`: it was away past the deadline; what else `work` threw; the
   *          signal's reason
   */
  async until<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    let since: number | undefined
    for (;;) {
      signal.throwIfAborted()
      try {
        const value = await work()
        this.#note(null)
        return value
      } catch (error) {
        if (!isFailure(error, 'unavailable')) throw error
        this.#note(explain(error))
        since ??= this.#clock.now()
        const waitedMs = this.#clock.now() - since
        if (waitedMs > this.#options.deadlineMs) throw outOfReach(error, waitedMs)
        await sleep(pauseMs, this.#clock, signal)
      }
    }
  }

  #note(why: string | null): void {
    const isNews = (why === null) !== (this.#why === null)
    this.#why = why
    if (isNews) this.#options.onChange(why)
  }
}

const outOfReach = (cause: Failure, waitedMs: number): Failure =>
  new Failure(
    'unavailable',
    `the store stays out of reach. seconds=${Math.round(waitedMs / 1000)}`,
    { cause, ...(cause.remedy !== undefined && { remedy: cause.remedy }) },
  )
