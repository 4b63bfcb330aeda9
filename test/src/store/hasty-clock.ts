import type { Clock } from '../../../src/clock.ts'

/** A clock on which every wait is over at once, and has taken as long as was asked for. */
export class HastyClock implements Clock {
  readonly waitsMs: number[] = []
  #now = 0

  now(): number {
    return this.#now
  }

  setTimeout(fn: () => void, ms: number): unknown {
    const due = this.#now + ms
    this.waitsMs.push(ms)
    return setImmediate(() => {
      this.#now = Math.max(this.#now, due)
      fn()
    })
  }

  clearTimeout(timer: unknown): void {
    if (timer instanceof Object) clearImmediate(timer as NodeJS.Immediate)
  }
}
