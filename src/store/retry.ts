/**
 * The retries of a store, outside any client: the SDK's own give up for all when many requests fail
 * at once (measured: 100 in flight through 5 s of 503, 0 of 300 succeed; this way all do).
 */
import { type Clock, type Random, sleep } from '../clock.ts'
import { Failure, isFailure } from '../failure.ts'
import { eachRequest } from './each-request.ts'
import type { ObjectStore } from './store.ts'
import { Throttled } from './throttled.ts'

const FIRST_MS = 100
const CAP_MS = 5_000

/** How often and how long a request is tried. */
export interface RetryOptions {
  /** Tries of one request, the first among them. */
  readonly attempts: number
  /** No try starts later than this after a request's first. */
  readonly deadlineMs?: number
  readonly clock: Clock
  readonly random: Random
  /** Told before each wait. */
  readonly onRetry?: (retry: Retry) => void
}

/** A request that failed and is about to be tried again. */
export interface Retry {
  readonly failure: Failure
  /** The try that failed: 1, 2, … */
  readonly attempt: number
  readonly delayMs: number
}

/**
 * Tries again what is `unavailable`, and nothing else: full jitter from 100 ms, doubling to 5 s, or
 * what Retry-After says. While failures run, all requests of this wrapper wait out one pause, so
 * that a store that is down is not hammered; the first success ends it.
 *
 * A condition that does not hold after a lost answer may be this request's own work: see
 * `putIfAbsent`. An upload in parts whose start's answer was lost is found by `openMultiparts`.
 */
export function retrying(store: ObjectStore, options: RetryOptions): ObjectStore {
  const { clock, random } = options
  const pause = new SharedPause(clock, random)

  return eachRequest(store, async (work, signal) => {
    const startedAt = clock.now()
    for (let attempt = 1; ; attempt++) {
      await pause.over(signal)
      const round = pause.round
      try {
        const value = await work()
        pause.end()
        return value
      } catch (error) {
        if (!isFailure(error, 'unavailable')) throw error
        const retryAfterMs = error instanceof Throttled ? error.retryAfterMs : 0
        pause.lengthen(round, retryAfterMs)
        const delayMs = Math.max(retryAfterMs, jittered(attempt, random))
        const spentMs = clock.now() - startedAt
        const late = spentMs + delayMs > (options.deadlineMs ?? Number.POSITIVE_INFINITY)
        if (late || attempt >= options.attempts) throw gaveUp(error, { attempt, spentMs })
        options.onRetry?.({ failure: error, attempt, delayMs })
        await sleep(delayMs, clock, signal)
      }
    }
  })
}

const jittered = (attempt: number, random: Random): number =>
  random() * Math.min(CAP_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 30))

function gaveUp(
  last: Failure,
  spent: { readonly attempt: number; readonly spentMs: number },
): Failure {
  if (spent.attempt === 1) return last
  const facts = `attempts=${spent.attempt}, seconds=${(spent.spentMs / 1000).toFixed(1)}`
  return new Failure('unavailable', `store stays unavailable. ${facts}`, {
    cause: last,
    ...(last.remedy !== undefined && { remedy: last.remedy }),
  })
}

class SharedPause {
  /** Failures of one round are one: they were all under way when the first of them came. */
  round = 0
  #level = 0
  #until = 0
  readonly #clock: Clock
  readonly #random: Random

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** Settles when the pause is over, a little later for each, so that not all begin at once. */
  async over(signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      const leftMs = this.#until - this.#clock.now()
      if (leftMs <= 0) return
      await sleep(leftMs + this.#random() * FIRST_MS, this.#clock, signal)
    }
  }

  lengthen(round: number, retryAfterMs: number): void {
    const now = this.#clock.now()
    this.#until = Math.max(this.#until, now + retryAfterMs)
    if (round !== this.round) return
    this.round += 1
    this.#level += 1
    this.#until = Math.max(this.#until, now + jittered(this.#level, this.#random))
  }

  end(): void {
    this.#level = 0
    this.#until = 0
  }
}
