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

  constructor(permits: Permits, asker: string) {
    this.#permits = permits
    this.#asker = asker
  }

  async ask({ ticket, kind }: PermitAsk): Promise<boolean> {
    this.#tickets.set(ticket, undefined)
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

  /** Of a ticket that this ledger never gave it, the one before did. */
  release({ ticket, outcome }: PermitEnd): void {
    if (!this.#tickets.has(ticket)) this.#permits.returned(this.#asker)
    this.#tickets.get(ticket)?.(outcome)
    this.#tickets.delete(ticket)
  }
}
