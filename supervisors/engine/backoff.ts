import type { Backoff } from '../../protocol/child.ts'
import type { Random } from '../../src/clock.ts'

/**
 * How long a child waits for its next start: longer each time, up to a cap, less a part that chance
 * takes away so that many do not return at once. Only a quiet run brings the first delay back; the
 * restart window counts on its own, so a child that is barely healthy is still given up.
 */
export class Delays {
  readonly #spec: Backoff
  readonly #random: Random
  #nextMs: number

  constructor(spec: Backoff, random: Random) {
    this.#spec = spec
    this.#random = random
    this.#nextMs = spec.firstMs
  }

  /** @param ranMs  how long the child was up before it died; 0 where it never was */
  next(ranMs: number): number {
    const { firstMs, factor, capMs, jitter, quietMs } = this.#spec
    if (ranMs >= quietMs) this.#nextMs = firstMs
    const fullMs = Math.min(this.#nextMs, capMs)
    this.#nextMs = Math.min(fullMs * factor, capMs)
    return fullMs * (1 - jitter * this.#random())
  }
}
