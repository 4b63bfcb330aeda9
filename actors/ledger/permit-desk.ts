import type { PermitAsk, PermitEnd } from '../../protocol/permit.ts'
import type { Release } from '../../src/store/limited.ts'
import type { Permits } from '../../src/store/permits.ts'

/** How long a question for a permit waits. */
const permitMs = 10_000

/** One asker's permits, by the numbers that it gives them. */
export class PermitDesk {
  readonly #permits: Permits
  readonly #asker: string
  /** What is asked for and not given back; without a function while the question waits. */
  readonly #tickets = new Map<number, Release | undefined>()
  /** The first ticket that was asked for here: a lower one was given by a ledger before this. */
  #first = Number.POSITIVE_INFINITY
  /** Of those before this: what came back. */
  readonly #returned = new Set<number>()

  constructor(permits: Permits, asker: string) {
    this.#permits = permits
    this.#asker = asker
  }

  async ask({ ticket, kind }: PermitAsk): Promise<boolean> {
    this.#tickets.set(ticket, undefined)
    this.#first = Math.min(this.#first, ticket)
    const release = await this.#permits.acquire(this.#asker, kind, permitMs)
    // The asker has given up waiting meanwhile, and has said so: nobody would use it.
    const isWanted = this.#tickets.has(ticket)
    if (isWanted && release) this.#tickets.set(ticket, release)
    else this.#tickets.delete(ticket)
    if (!isWanted) release?.('lost')
    return isWanted && release !== null
  }

  /** A permit without a question, under a number that the asker never gives; null: none is free. */
  take(number: number): number | null {
    const release = this.#permits.take(this.#asker, 'sample')
    if (release === null) return null
    this.#tickets.set(number, release)
    return number
  }

  release({ ticket, outcome }: PermitEnd): void {
    const isOlder = !this.#tickets.has(ticket) && ticket < this.#first
    if (isOlder && !this.#returned.has(ticket)) {
      this.#returned.add(ticket)
      this.#permits.returned(this.#asker)
    }
    this.#tickets.get(ticket)?.(outcome)
    this.#tickets.delete(ticket)
  }
}
