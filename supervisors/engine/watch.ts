import type { PulseReading } from '../../protocol/pulse.ts'

/**
 * Judges a thread by its pulse. Time is counted in looks, each of which counts for at most twice
 * the usual: after the machine slept, or this thread was kept from looking, nobody is late at once.
 */
export class Watch {
  readonly #heartbeatMs: number
  readonly #lookMs: number
  #beats = -1
  #announced = -1
  #silentMs = 0
  #busyMs = 0

  constructor(options: { readonly heartbeatMs: number; readonly lookMs: number }) {
    this.#heartbeatMs = options.heartbeatMs
    this.#lookMs = options.lookMs
  }

  /** Since the last sign of life, as far as looks can tell. */
  get silentMs(): number {
    return this.#silentMs
  }

  /**
   * @param sinceMs  since the last look
   * @returns        why the thread must be ended; undefined where it is in time
   */
  look(reading: PulseReading, sinceMs: number): string | undefined {
    const passedMs = Math.min(sinceMs, 2 * this.#lookMs)
    this.#silentMs = reading.beats === this.#beats ? this.#silentMs + passedMs : 0
    this.#busyMs = reading.announced === this.#announced ? this.#busyMs + passedMs : 0
    this.#beats = reading.beats
    this.#announced = reading.announced
    const { busy } = reading
    if (busy) {
      if (this.#busyMs <= busy.deadlineMs) return undefined
      return `busy past its deadline. work=${busy.work}, deadlineMs=${busy.deadlineMs}`
    }
    if (this.#silentMs <= this.#heartbeatMs) return undefined
    return `no sign of life, and not announced as busy. heartbeatMs=${this.#heartbeatMs}`
  }

  /** How much longer an announced work may take. */
  leftMs(reading: PulseReading): number {
    return reading.busy ? Math.max(0, reading.busy.deadlineMs - this.#busyMs) : 0
  }
}
