import { setTimeout as setTimer } from 'node:timers'
import { Failure } from './failure.ts'

/**
 * Time, passed in wherever something waits, so that tests and the simulator decide when it passes.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** @param how  `idle`: it keeps no process from ending */
  setTimeout(fn: () => void, ms: number, how?: 'idle'): unknown
  clearTimeout(timer: unknown): void
}

const timerMsMax = 2 ** 31 - 1

const timers: Pick<Clock, 'setTimeout' | 'clearTimeout'> = {
  setTimeout: (fn, ms, how) => {
    // Node takes what is longer for no time at all.
    const timer = setTimer(fn, Math.min(ms, timerMsMax))
    return how === 'idle' ? timer.unref() : timer
  },
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
}

const startedAt = Date.now() - performance.now()

/**
 * For how long something takes, and how long it may: the machine's clock as this process found it,
 * counted on steadily. A clock that is set while we run makes nobody late, and nobody wait.
 */
export const systemClock: Clock = {
  now: () => Math.floor(startedAt + performance.now()),
  ...timers,
}

/** For moments that others read, or that are compared with theirs: as the clock is set just now. */
export const wallClock: Clock = { now: () => Date.now(), ...timers }

/** Time that passes when told to. Timers fire in order of their moment, then of their setting. */
export class SimulatedClock implements Clock {
  #now: number
  #next = 1
  readonly #timers = new Map<number, { at: number; fn: () => void }>()

  constructor(now = 0) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  setTimeout(fn: () => void, ms: number): number {
    const id = this.#next++
    this.#timers.set(id, { at: this.#now + Math.max(0, ms), fn })
    return id
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer as number)
  }

  /** Lets `ms` pass; timers set meanwhile fire too where their moment has come. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      let due: [number, { at: number; fn: () => void }] | undefined
      for (const entry of this.#timers) {
        if (entry[1].at <= end && (!due || entry[1].at < due[1].at)) due = entry
      }
      if (!due) break
      this.#timers.delete(due[0])
      this.#now = Math.max(this.#now, due[1].at)
      due[1].fn()
    }
    this.#now = end
  }
}

/** Numbers in [0, 1). */
export type Random = () => number

/** A small seeded generator (Mulberry32), for plans, jitter and tests: never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let z = state
    z = Math.imul(z ^ (z >>> 15), z | 1)
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61)
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32
  }
}

/** So many digits, of 16, by chance: for names that nobody else gives. */
export function randomHex(random: Random, digits: number): string {
  let text = ''
  while (text.length < digits) {
    text += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  }
  return text.slice(0, digits)
}

/** Again and again, `ms` apart; keeps no process from ending. What it gives ends it. */
export function every(ms: number, clock: Clock, work: () => void): () => void {
  let timer: unknown
  const next = () => {
    timer = clock.setTimeout(
      () => {
        next()
        work()
      },
      ms,
      'idle',
    )
  }
  next()
  return () => clock.clearTimeout(timer)
}

/** Settles after `ms`; rejects with the signal's reason where that comes first. */
export function sleep(ms: number, clock: Clock = systemClock, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    const abort = () => {
      clock.clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/**
 * The promise's outcome, or a Failure `unavailable` that names `what` after `ms`.
 * The work itself goes on; it is the waiting that ends.
 */
export function within<T>(
  ms: number,
  what: string,
  promise: Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  let timer: unknown
  const late = new Promise<never>((_, reject) => {
    timer = clock.setTimeout(
      () => reject(new Failure('unavailable', `no answer in time. what=${what}, waited=${ms} ms`)),
      ms,
    )
  })
  return Promise.race([promise, late]).finally(() => clock.clearTimeout(timer))
}
