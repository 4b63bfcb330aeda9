import { count, eta, perSecond } from '../../actors/console/numbers.ts'
import { Rate } from '../../src/rate.ts'

/** How far a long look at a store is: one line that replaces itself, on a terminal only. */

const showMs = 250

export class Tally {
  readonly #what: string
  readonly #all: number
  readonly #rate = new Rate()
  #done = 0
  #shownAt = 0
  #isShown = false

  /** @param all  how many there will be, as far as is known */
  constructor(what: string, all: number) {
    this.#what = what
    this.#all = all
  }

  readonly one = (): void => {
    this.#done++
    const now = Date.now()
    if (!process.stderr.isTTY || now - this.#shownAt < showMs) return
    this.#shownAt = now
    this.#isShown = true
    this.#rate.note(this.#done, now)
    process.stderr.write(`\r\x1b[K${tallyText(this.#what, this)}`)
  }

  /** Leaves the line empty for what comes next. */
  end(): void {
    if (this.#isShown) process.stderr.write('\r\x1b[K')
  }

  get done(): number {
    return this.#done
  }

  get all(): number {
    return this.#all
  }

  get perSecond(): number {
    return this.#rate.perSecond
  }
}

/** Listings may bring more than the manifest knows of: then nobody knows how much is left. */
export function tallyText(
  what: string,
  at: { readonly done: number; readonly all: number; readonly perSecond: number },
): string {
  const left = at.all - at.done
  const seconds = at.perSecond > 0 && left >= 0 ? left / at.perSecond : null
  const speed = `${perSecond(at.perSecond)}/s, ${eta(seconds)} left`
  return `${what} ${count(at.done)} of ${count(at.all)}, ${speed}`
}
