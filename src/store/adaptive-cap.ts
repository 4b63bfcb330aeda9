import type { Outcome } from './limited.ts'

/** However busy the store, so many requests may be open: fewer would not tell when it recovers. */
const floor = 4
/** A round of answers adds this part of the whole: the way back takes fifty rounds at most. */
const steps = 50

/** The cap in force leaves the whole one, or is back at it. */
export type Adapted = 'lowered' | 'restored'

/**
 * How many requests a store bears at once, found as TCP finds what a line bears: halved when the
 * store has too much to do, raised by a fixed step for each round of answers. Requests of one round
 * were all open when the first of them was throttled: they are one sign, and cut once.
 */
export class AdaptiveCap {
  #max: number
  #inForce: number
  #round = 0

  constructor(max: number) {
    this.#max = max
    this.#inForce = max
  }

  /** Never passed, however quick the store. */
  get max(): number {
    return this.#max
  }

  get inForce(): number {
    return Math.floor(this.#inForce)
  }

  /** To be remembered with each request that begins. */
  get round(): number {
    return this.#round
  }

  setMax(max: number): void {
    const isWhole = this.#inForce >= this.#max
    this.#max = max
    this.#inForce = isWhole ? max : Math.min(this.#inForce, max)
  }

  /** @param round  in which the request began: those before the last cut tell nothing new */
  note(outcome: Outcome, round: number): Adapted | undefined {
    if (round !== this.#round || outcome === 'lost') return undefined
    const before = this.#inForce
    if (outcome === 'throttled') {
      this.#round++
      this.#inForce = Math.max(Math.min(floor, this.#max), before / 2)
      return before === this.#max && this.#inForce < before ? 'lowered' : undefined
    }
    this.#inForce = Math.min(this.#max, before + Math.max(1, this.#max / steps) / before)
    return before < this.#max && this.#inForce === this.#max ? 'restored' : undefined
  }
}
